/// How a derived profile gets credentials: by a call of STS that its source's credentials sign.
public struct Derivation: Sendable, Equatable {
  public enum Call: Sendable, Equatable {
    /// GetScopedCredentials: the source's own session, with less permission or a shorter life.
    ///
    /// - description: for CloudTrail, 2 to 256 characters of ASCII.
    case scope(description: String?)
    /// AssumeRole.
    case hop(RoleHop)
  }

  public var call: Call
  /// Nil for none.
  public var policy: SessionPolicy?
  /// The configured lifetime; nil for the source's end.
  public var duration: Duration?

  public init(_ call: Call, policy: SessionPolicy? = nil, duration: Duration? = nil) {
    self.call = call
    self.policy = policy
    self.duration = duration
  }
}

/// A role that is assumed from another one.
public struct RoleHop: Sendable, Equatable {
  public var roleARN: String
  public var sessionName: Template
  public var policyARNs: [String] = []
  public var externalID: String?
  public var tags: [NamedTemplate] = []
  public var transitiveTags: [String] = []
  public var sourceIdentity: Template?

  public init(roleARN: String, sessionName: Template) {
    self.roleARN = roleARN
    self.sessionName = sessionName
  }
}

/// The value of a session tag, for each user.
public struct NamedTemplate: Sendable, Equatable {
  public let name: String
  public let template: Template

  public init(_ name: String, _ template: Template) {
    self.name = name
    self.template = template
  }
}

/// The credentials of a source, with what is known of their session.
public struct SourceCredentials: Sendable, Equatable {
  public let credentials: Credentials
  /// What is left of them, by the clock of the server that gave them.
  public let lifetime: Duration
  /// ARN of the session; nil in the enhanced flow, where AWS does not tell it.
  public let sessionARN: String?
  /// Scope-down policies that the session has already.
  public let scopes: Int

  public init(
    _ credentials: Credentials, lifetime: Duration, sessionARN: String? = nil, scopes: Int = 0
  ) {
    self.credentials = credentials
    self.lifetime = lifetime
    self.sessionARN = sessionARN
    self.scopes = scopes
  }
}

extension Derivation {
  /// So much of the source's life is left to the source: STS's clock need not be credd's.
  static let margin: Duration = .seconds(60)
  /// With less left of it, the source is renewed first.
  static let leastSource: Duration = .seconds(120)

  /// The request, to be signed with the source's credentials.
  ///
  /// - Throws: if a value does not fit this user.
  func request(
    to sts: STS, from source: SourceCredentials, _ user: UnixUser, host: String
  ) throws(InvalidInput) -> HTTPRequest {
    let text = try policyText(user, host: host)
    switch call {
    case .scope(let description):
      return try sts.getScopedCredentials(
        STS.Scope(policy: text, duration: seconds(of: source), description: description))
    case .hop(let hop):
      return try sts.assumeRole(
        try hop.query(user, host: host, policy: text, duration: duration.map { Int($0.inSeconds) }))
    }
  }

  private func policyText(_ user: UnixUser, host: String) throws(InvalidInput) -> String? {
    guard let policy else { return nil }
    do {
      return try policy.text(user: user.name, uid: user.uid, host: host)
    } catch {
      throw InvalidInput(field: "policy_file", reason: error.description)
    }
  }

  /// DurationSeconds of a scope: no more than what is left of the source, less the margin.
  private func seconds(of source: SourceCredentials) -> Int? {
    duration.map { Int(max(.seconds(1), min($0, source.lifetime - Self.margin)).inSeconds) }
  }
}

extension RoleHop {
  fileprivate func query(
    _ user: UnixUser, host: String, policy: String?, duration: Int?
  ) throws(InvalidInput) -> STS.Hop {
    func expanded(_ template: Template, _ key: String) throws(InvalidInput) -> String {
      do {
        return try template.expand(user: user.name, uid: user.uid, host: host)
      } catch {
        throw InvalidInput(field: key, reason: error.description)
      }
    }
    var values: [STS.Tag] = []
    for tag in tags {
      values.append(
        STS.Tag(tag.name, try expanded(tag.template, "session_tags.\(tag.name)")))
    }
    return STS.Hop(
      STS.RoleQuery(
        roleARN: roleARN, sessionName: try expanded(sessionName, "role_session_name"),
        duration: duration, policy: policy, policyARNs: policyARNs),
      externalID: externalID, tags: values, transitiveTags: transitiveTags,
      sourceIdentity: try sourceIdentity.map { (template) throws(InvalidInput) in
        try expanded(template, "source_identity")
      })
  }
}
