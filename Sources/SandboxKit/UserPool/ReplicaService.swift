import FoundationEssentials

/// The replica of all user pools in another region: the same pools, clients and users, at a port of its
/// own. It does what AWS lists for an active secondary (developer guide, user-pool-multi-region).
enum ReplicaService {
  static let operations: Set = [
    "InitiateAuth", "RespondToAuthChallenge", "GetTokensFromRefreshToken", "RevokeToken",
    "GlobalSignOut", "GetUser", "GetUserAuthFactors", "GetDevice", "ListDevices", "Discovery",
  ]

  static func reply(
    to request: HTTPRequest, in state: inout SandboxState, fault: Fault.Kind?, at now: Date
  ) -> HTTPReply {
    guard let operation = UserPoolService.operation(of: request), operations.contains(operation)
    else { return UserPoolService.reply(with: notEnabled) }
    do throws(ServiceError) {
      let request = try taken(request)
      return marked(UserPoolService.reply(to: request, in: &state, fault: fault, at: now))
    } catch {
      return UserPoolService.reply(with: error)
    }
  }

  private static let notEnabled = ServiceError(
    "OperationNotEnabledException", "The operation is not enabled in this region.")

  // MARK: Sessions of sign-ins

  /// AWS does not say that a sign-in may change its region, so it may not here: the Session of one region
  /// is unknown in the other.
  private static let mark = "-replica"

  private static func taken(_ request: HTTPRequest) throws(ServiceError) -> HTTPRequest {
    guard case .object(var members)? = JSON(parsing: request.body) else { return request }
    // "TOTP MFA is not supported in secondary replicas".
    guard members["ChallengeName"]?.text != "SOFTWARE_TOKEN_MFA" else { throw notEnabled }
    guard let session = members["Session"]?.text else { return request }
    guard session.hasSuffix(mark) else { throw .foreignSession }
    members["Session"] = .string(String(session.dropLast(mark.count)))
    var request = request
    request.body = JSON.object(members).bytes
    return request
  }

  private static func marked(_ reply: HTTPReply) -> HTTPReply {
    guard case .object(var members)? = reply.json, let session = members["Session"]?.text else {
      return reply
    }
    members["Session"] = .string(session + mark)
    var reply = reply
    reply.body = JSON.object(members).bytes
    return reply
  }
}
