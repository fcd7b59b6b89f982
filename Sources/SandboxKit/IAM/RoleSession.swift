/// A session of a role: whose it is, and what narrows it.
struct RoleSession: Sendable, Equatable {
  /// GetScopedCredentials narrows a session at most so often (STS API reference).
  static let maximumScopes = 3
  /// Bytes that policies and tags may take in a session token. AWS names no figure; this is the
  /// stand-in's.
  static let maximumPackedSize = 4096

  /// The ARN of the role.
  let role: String
  let name: String
  /// `sub` of the Cognito token that began it.
  var identity: String?
  /// Whom the ID token named that began it.
  var openID: ProviderIdentity?
  /// Session tags, by their keys as they were given.
  var tags: [String: String] = [:]
  /// The keys of tags that go on to a role that this session assumes.
  var transitiveTags: Set<String> = []
  var sourceIdentity: String?
  /// The session policies with which the role was assumed; they are united. Nil without any.
  var sessionPolicies: [PolicyDocument]?
  /// By GetScopedCredentials, in turn.
  var scopes: [PolicyDocument] = []
  /// Bytes of policies and tags.
  var packedSize = 0

  init(role: String, name: String, identity: String? = nil) {
    self.role = role
    self.name = name
    self.identity = identity
  }

  /// `arn:aws:sts::ACCOUNT:assumed-role/ROLE/SESSION`.
  var arn: String {
    "arn:\(Role.part(1, of: role)):sts::\(account):assumed-role/\(roleName)/\(name)"
  }

  var account: String { Role.part(4, of: role) }

  private var roleName: String { String(role.split(separator: "/").last ?? "") }

  /// `AROA…:SESSION`.
  var userID: String {
    "AROASANDBOX" + roleName.uppercased().filter { $0.isASCII && $0.isLetter } + ":" + name
  }

  /// How full the session token is, 0 to 100.
  var utilization: Int { packedSize * 100 / RoleSession.maximumPackedSize }

  /// Values of the session for conditions and variables.
  var values: [String: String] {
    var values = [
      "aws:userid": userID, "aws:principalarn": role, "aws:principalaccount": account,
    ]
    values["cognito-identity.amazonaws.com:sub"] = identity
    if let openID {
      values[openID.provider.lowercased() + ":sub"] = openID.subject
      values[openID.provider.lowercased() + ":aud"] = openID.audience
    }
    values["aws:sourceidentity"] = sourceIdentity
    for (key, value) in tags { values["aws:principaltag/" + key.lowercased()] = value }
    return values
  }

  /// Packs bytes into the token.
  mutating func pack(_ size: Int) throws(ServiceError) {
    packedSize += size
    guard packedSize > RoleSession.maximumPackedSize else { return }
    throw ServiceError(
      "PackedPolicyTooLarge",
      "The session token size of \(packedSize) bytes exceeds the maximum of "
        + "\(RoleSession.maximumPackedSize) bytes.")
  }
}

extension SandboxState {
  /// Whether a session may do something: its role, its session policies and each of its scopes must
  /// allow it, and none may deny it.
  func allows(_ request: AccessRequest, to session: RoleSession) -> Bool {
    var request = request
    request.values.merge(session.values) { own, _ in own }
    let layers =
      [roles[session.role]?.policies ?? []] + (session.sessionPolicies.map { [$0] } ?? [])
      + session.scopes.map { [$0] }
    return layers.allSatisfy { layer in
      let verdicts = layer.map { $0.verdict(on: request) }
      return verdicts.contains(true) && !verdicts.contains(false)
    }
  }

  func require(_ request: AccessRequest, of session: RoleSession) throws(ServiceError) {
    guard !allows(request, to: session) else { return }
    throw SandboxState.notAuthorized(session.arn, request)
  }

  static func notAuthorized(_ caller: String, _ request: AccessRequest) -> ServiceError {
    ServiceError(
      status: 403, "AccessDenied",
      "User: \(caller) is not authorized to perform: \(request.action) on resource: "
        + request.resource)
  }
}
