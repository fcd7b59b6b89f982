/// The role of a profile with `flow = direct`: STS gives its credentials for the provider's own ID token,
/// or for the token of a file, and there is no identity pool.
public struct DirectRole: Sendable, Equatable {
  public let sts: STS
  public let arn: String
  /// Nil for none.
  public let policy: SessionPolicy?
  /// The file's name without its folder; nil without a policy.
  public let policyName: String?
  private let sessionName: Template
  /// Seconds.
  private let duration: Int
  private let policyARNs: [String]

  /// - Throws: for values that the configuration reader has refused already.
  init(
    _ session: RoleSessionSettings, at sts: STS, in configuration: Configuration
  ) throws(InvalidInput) {
    guard let arn = session.roleARN else {
      throw InvalidInput(field: "role_arn", reason: "is missing")
    }
    self.arn = arn
    self.sts = sts
    let file = try configuration.policy(of: session)
    (policy, policyName) = (file?.policy, file?.name)
    sessionName = session.name
    duration = Int(session.lifetime.inSeconds)
    policyARNs = session.policyARNs
  }

  /// Whether a uid without a name cannot have it.
  var needsUserName: Bool { sessionName.needsUserName || policy?.needsUserName ?? false }

  /// The parameters of AssumeRoleWithWebIdentity for one user.
  ///
  /// - Throws: if a value does not fit this user.
  public func query(
    for token: Secret, _ user: UnixUser, host: String
  ) throws(InvalidInput) -> STS.RoleQuery {
    STS.RoleQuery(
      roleARN: arn, sessionName: try sessionName(for: token, user, host: host),
      duration: duration, policy: try policy?.text(of: policyName, for: user, host: host),
      policyARNs: policyARNs)
  }

  /// The text may be a person's choice, so it is in no message.
  ///
  /// - Throws: if a claim is missing, or the name is none that STS takes.
  func sessionName(
    for token: Secret, _ user: UnixUser, host: String
  ) throws(InvalidInput) -> String {
    let name: String
    do {
      name = try sessionName.expand(
        user: user.name, uid: user.uid, host: host, claims: TokenClaims(of: token))
    } catch {
      throw InvalidInput(field: Self.nameKey, reason: error.description)
    }
    guard name.isRoleSessionName else {
      throw InvalidInput(
        field: Self.nameKey,
        reason:
          "'\(sessionName.text)' is not 2 to 64 letters, digits or any of _+=,.@- for this user"
      )
    }
    return name
  }

  private static let nameKey = "role_session_name"
}

extension Held {
  /// The user's issuer and subject in one text. Nil with an identity pool: there the IdentityId names the
  /// user.
  func user(_ plan: SessionPlan) -> String? {
    guard case .role = plan.way else { return nil }
    if let session = state.providerSession {
      return "\(session.issuer.url) \(session.subject ?? session.username)"
    }
    return logins.subject
  }
}
