import FoundationEssentials

/// Amazon Cognito user pools (2016-04-18): the operations that a client without AWS credentials may
/// call.
enum UserPoolService {
  static let targetPrefix = "AWSCognitoIdentityProviderService."

  /// Operations that name their client.
  static let clientOperations: Set = [
    "SignUp", "ConfirmSignUp", "ResendConfirmationCode", "InitiateAuth", "RespondToAuthChallenge",
    "GetTokensFromRefreshToken", "RevokeToken", "ForgotPassword", "ConfirmForgotPassword",
  ]

  /// Operations that take an access token.
  static let accountOperations: Set = [
    "GlobalSignOut", "GetUser", "UpdateUserAttributes", "DeleteUserAttributes",
    "GetUserAttributeVerificationCode", "VerifyUserAttribute", "ChangePassword", "DeleteUser",
    "SetUserMFAPreference", "ConfirmDevice", "ForgetDevice", "GetDevice", "ListDevices",
    "UpdateDeviceStatus", "GetUserAuthFactors", "ListUserSessions", "RevokeUserSession",
  ]

  /// Operations that take an access token or the Session of a sign-in.
  static let setupOperations: Set = ["AssociateSoftwareToken", "VerifySoftwareToken"]

  /// Operations whose success has no body.
  private static let silentOperations: Set = ["DeleteUser", "ForgetDevice"]

  static let operations = clientOperations.union(accountOperations).union(setupOperations)

  /// The operation of a request; nil if the request is not for this service.
  static func operation(of request: HTTPRequest) -> String? {
    if document(of: request) != nil { return "Discovery" }
    guard let target = request.header("X-Amz-Target"), target.hasPrefix(targetPrefix) else {
      return nil
    }
    let name = String(target.dropFirst(targetPrefix.count))
    return operations.contains(name) ? name : "Unknown"
  }

  static func reply(
    to request: HTTPRequest, in state: inout SandboxState, fault: Fault.Kind?, at now: Date
  ) -> HTTPReply {
    var reply = answer(request, in: &state, fault: fault, at: now)
    reply.headers.append(HTTPField("x-amzn-RequestId", state.random.uuid()))
    return reply
  }

  private static func answer(
    _ request: HTTPRequest, in state: inout SandboxState, fault: Fault.Kind?, at now: Date
  ) -> HTTPReply {
    if let (pool, name) = document(of: request) {
      return publicDocument(name, of: pool, in: state)
    }
    var pool: String?
    do throws(ServiceError) {
      let operation = try checkForm(of: request)
      switch fault {
      case .expiredToken:
        throw accountOperations.contains(operation) ? .expiredAccessToken : .expiredRefreshToken
      case .wrongPool: throw .unknownClient("of another pool")
      default: break
      }
      let input = try CognitoInput(userPool: request.body)
      let output = try state.userPoolCall(operation, input, pool: &pool, at: now)
      guard let output, !silentOperations.contains(operation) else {
        return HTTPReply(headers: [HTTPField("Content-Type", CognitoService.contentType)])
      }
      return HTTPReply(type: CognitoService.contentType, json: output)
    } catch {
      let spelling = pool.flatMap { state.userPools[$0]?.settings.errorSpelling } ?? .plain
      return reply(with: error, spelling: spelling)
    }
  }

  /// The operation, after the checks of method, path, type and target.
  private static func checkForm(of request: HTTPRequest) throws(ServiceError) -> String {
    let type = request.header("Content-Type")?.split(separator: ";").first
    guard request.method == "POST", request.path == "/",
      type?.lowercased() == CognitoService.contentType
    else {
      throw ServiceError(
        status: 404, "UnknownOperationException",
        "not a POST of \(CognitoService.contentType) to /")
    }
    guard request.header("Authorization") == nil else {
      throw ServiceError(
        "InvalidSignatureException",
        "The sandbox takes no Authorization: these operations are not signed.")
    }
    let operation = operation(of: request) ?? ""
    guard operations.contains(operation) else {
      throw ServiceError("UnknownOperationException", "unknown operation")
    }
    return operation
  }

  static func reply(
    with error: ServiceError, spelling: PoolSettings.ErrorSpelling = .plain
  ) -> HTTPReply {
    var body: [String: JSON] = [
      "__type": .string(error.code), "message": .string(error.message),
    ]
    var type = error.code + ":"
    switch spelling {
    case .plain: break
    case .prefixed:
      body["__type"] = .string("com.amazonaws.cognito.identity.idp#" + error.code)
    case .header:
      body["__type"] = nil
      type += "http://internal.amazon.com/coral/com.amazonaws.cognito.identity.idp/"
    case .capital:
      body["message"] = nil
      body["Message"] = .string(error.message)
    }
    return HTTPReply(
      status: error.status, type: CognitoService.contentType,
      headers: [
        HTTPField("x-amzn-ErrorType", type),
        HTTPField("x-amzn-ErrorMessage", error.message.filter { $0 != "\n" }),
      ],
      json: .object(body))
  }

  /// The pool and the name of a public document.
  private static func document(of request: HTTPRequest) -> (pool: String, name: String)? {
    let parts = request.path.split(separator: "/")
    guard request.method == "GET", parts.count == 3, parts[1] == ".well-known",
      UserPoolName(id: String(parts[0])).isValid
    else { return nil }
    return (String(parts[0]), String(parts[2]))
  }

  private static func publicDocument(
    _ name: String, of id: String, in state: SandboxState
  ) -> HTTPReply {
    do throws(ServiceError) {
      guard let pool = state.userPools[id] else { throw .unknownUserPool(id) }
      switch name {
      case "jwks.json": return HTTPReply(json: try pool.keySet())
      case "openid-configuration": return HTTPReply(json: pool.discovery)
      default: return HTTPReply(status: 404, json: ["message": "Not Found"])
      }
    } catch { return reply(with: error) }
  }
}
