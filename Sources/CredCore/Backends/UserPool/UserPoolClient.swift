/// One app client of a Cognito user pool: makes requests and reads replies (Cognito user pools API
/// reference, 2016-04-18).
///
/// JSON 1.1 over POST. Requests are not signed; an access token is sent in the body. The app
/// client's id identifies the pool.
public struct UserPoolClient: Sendable, Equatable {
  /// The backend's name in the configuration, for messages.
  public let backend: String
  /// Where requests go: the pool's primary region, or its replica's.
  public private(set) var host: AWSHost
  /// The client at its primary region. Requests to the replica are this client's too.
  public let issuer: ProviderIssuer
  public let pool: UserPoolID
  public let id: String
  /// Nil for a public client.
  public let secret: Secret?

  /// - Throws: if Cognito would refuse the id or the secret.
  public init(
    backend: String, host: AWSHost, pool: UserPoolID, id: String, secret: Secret?
  ) throws(InvalidInput) {
    guard UserPoolInput.isClientID(id) else {
      throw InvalidInput(field: "client_id", reason: "is not \(UserPoolInput.clientIDForm)")
    }
    if let secret {
      guard (1...Limits.UserPool.clientSecretLength).contains(secret.count),
        secret.bytes.allSatisfy(\.isVisible)
      else {
        throw InvalidInput(
          field: "client_secret_file",
          reason:
            "holds no client secret of 1 to \(Limits.UserPool.clientSecretLength) characters")
      }
    }
    self.backend = backend
    self.host = host
    issuer = ProviderIssuer(pool: pool, clientID: id, url: host.url)
    self.pool = pool
    self.id = id
    self.secret = secret
  }

  var upstream: Upstream { .backend(backend) }

  /// This client with requests that go to the pool's replica.
  func asking(_ replica: AWSHost) -> UserPoolClient {
    var client = self
    client.host = replica
    return client
  }

  /// A request with `ClientId`.
  func clientRequest(
    _ operation: UserPoolOperation, _ members: (inout JSONWriter) -> Void
  ) -> HTTPRequest {
    request(operation) {
      $0.field("ClientId", id)
      members(&$0)
    }
  }

  func request(
    _ operation: UserPoolOperation, _ members: (inout JSONWriter) -> Void
  ) -> HTTPRequest {
    host.request("AWSCognitoIdentityProviderService.\(operation.rawValue)", members)
  }
}

/// The operations that credd calls.
public enum UserPoolOperation: String, Sendable, CaseIterable {
  // Sign-in and tokens.
  case initiateAuth = "InitiateAuth"
  case respondToAuthChallenge = "RespondToAuthChallenge"
  case getTokensFromRefreshToken = "GetTokensFromRefreshToken"
  case revokeToken = "RevokeToken"
  case globalSignOut = "GlobalSignOut"
  // The account before a sign-in.
  case signUp = "SignUp"
  case confirmSignUp = "ConfirmSignUp"
  case resendConfirmationCode = "ResendConfirmationCode"
  case forgotPassword = "ForgotPassword"
  case confirmForgotPassword = "ConfirmForgotPassword"
  // The user's own account.
  case getUser = "GetUser"
  case changePassword = "ChangePassword"
  case updateUserAttributes = "UpdateUserAttributes"
  case deleteUserAttributes = "DeleteUserAttributes"
  case getUserAttributeVerificationCode = "GetUserAttributeVerificationCode"
  case verifyUserAttribute = "VerifyUserAttribute"
  case setUserMFAPreference = "SetUserMFAPreference"
  case associateSoftwareToken = "AssociateSoftwareToken"
  case verifySoftwareToken = "VerifySoftwareToken"
  case deleteUser = "DeleteUser"
  // Remembered devices.
  case confirmDevice = "ConfirmDevice"
  case updateDeviceStatus = "UpdateDeviceStatus"
  case listDevices = "ListDevices"
  case forgetDevice = "ForgetDevice"
  // Tracked sessions.
  case listUserSessions = "ListUserSessions"
  case revokeUserSession = "RevokeUserSession"
}

/// A user name in the form that one request sends, with its SECRET_HASH: Cognito compares the two.
public struct PoolUsername: Sendable, Equatable {
  public let name: String
  /// Nil for a client without a secret.
  let secretHash: Secret?
}

extension UserPoolClient {
  /// - Parameter name: in requests that begin something, the name as typed. In requests that
  ///   continue it, the pool's name for the user (USERNAME). The hash is made from the same name.
  /// - Throws: if Cognito would refuse the name.
  public func username(
    _ name: String, digests: some Digests
  ) throws(InvalidInput) -> PoolUsername {
    PoolUsername(
      name: try UserPoolInput.username(name),
      secretHash: secret.map { Self.secretHash(of: name, client: id, secret: $0, digests: digests) }
    )
  }

  /// `base64(HMAC(secret, username + client id))`.
  static func secretHash(
    of username: String, client: String, secret: Secret, digests: some Digests
  ) -> Secret {
    let code = digests.hmacSHA256(
      key: secret.bytes, message: Array(username.utf8) + Array(client.utf8))
    return Secret(Base64.encode(code))
  }
}

extension JSONWriter {
  /// Adds a member; nothing if there is no value.
  mutating func field(_ name: String, _ value: Secret?) {
    if let value { field(name, value) }
  }

  /// Adds `Username` and `SecretHash`, for calls that have them as members.
  mutating func user(_ user: PoolUsername) {
    field("Username", user.name)
    field("SecretHash", user.secretHash)
  }

  mutating func metadata(_ metadata: ClientMetadata) {
    guard !metadata.entries.isEmpty else { return }
    field("ClientMetadata") { writer in
      for entry in metadata.entries { writer.field(entry.name, entry.value) }
    }
  }

  /// Adds a list of `{"Name":…,"Value":…}`; nothing if the list is empty.
  mutating func attributes(_ name: String, _ attributes: [NamedSecret]) {
    guard !attributes.isEmpty else { return }
    key(name)
    beginArray()
    for attribute in attributes {
      beginObject()
      field("Name", attribute.name)
      field("Value", attribute.value)
      endObject()
    }
    endArray()
  }
}
