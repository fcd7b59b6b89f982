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
  public var sts: STS
  /// Nil for none.
  public var policy: SessionPolicy?
  /// The file's name without its folder; nil without a policy.
  public var policyName: String?
  /// The configured lifetime; nil for the source's end, or for a role's hour.
  public var duration: Duration?
  /// PEM file of certificate authorities for STS, which replaces those of the system.
  public var caFile: String?
  /// The source's AWS account, where the configuration tells it.
  public var account: String?

  public init(
    _ call: Call, at sts: STS, policy: SessionPolicy? = nil, duration: Duration? = nil
  ) {
    self.call = call
    self.sts = sts
    self.policy = policy
    self.duration = duration
  }

  /// The operation's name at AWS.
  public var operation: String {
    switch call {
    case .scope: "GetScopedCredentials"
    case .hop: "AssumeRole"
    }
  }

  public var roleARN: String? { if case .hop(let hop) = call { hop.roleARN } else { nil } }

  /// Whether a uid without a name cannot have it.
  var needsUserName: Bool {
    if policy?.needsUserName ?? false { return true }
    guard case .hop(let hop) = call else { return false }
    return ([hop.sessionName] + hop.tags.map(\.template) + [hop.sourceIdentity].compactMap(\.self))
      .contains(where: \.needsUserName)
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

/// The credentials that sign a call.
public struct SourceCredentials: Sendable, Equatable {
  public let credentials: Credentials
  /// What is left of them, by the clock of the server that gave them.
  public let lifetime: Duration
  /// The role that a `login` chose.
  let role: String?

  public init(_ credentials: Credentials, lifetime: Duration, role: String? = nil) {
    self.credentials = credentials
    self.lifetime = lifetime
    self.role = role
  }
}

/// A call that is ready to be signed.
public struct DerivedRequest: Sendable {
  public let request: HTTPRequest
  /// The session name of a hop.
  let sessionName: String?
  /// SHA-256 of the policy that is sent follows from this text; nil without one.
  public let policy: String?
}

extension Derivation {
  /// So much of the source's life is left to the source: STS's clock need not be credd's.
  static let margin: Duration = .seconds(60)
  /// A source with less life left is renewed first.
  static let leastOfSource: Duration = .seconds(120)
  /// The shortest `duration` of a source, so that what is derived from it lives for a minute at least.
  static let leastDurationOfSource = leastOfSource + margin

  /// The account of a source's credentials: Cognito names none beside its own.
  public func account(of source: SourceCredentials) -> String? {
    source.credentials.accountID ?? source.role.flatMap(STS.accountID) ?? account
  }

  /// The request, to be signed with the source's credentials.
  ///
  /// - Throws: if a value does not fit this user.
  public func request(
    from source: SourceCredentials, _ user: UnixUser, host: String
  ) throws(InvalidInput) -> DerivedRequest {
    let text = try policy?.text(of: policyName, for: user, host: host)
    switch call {
    case .scope(let description):
      return DerivedRequest(
        request: try sts.getScopedCredentials(
          STS.Scope(policy: text, duration: seconds(of: source), description: description)),
        sessionName: nil, policy: text)
    case .hop(let hop):
      let query = try hop.query(
        user, host: host, policy: text, duration: duration.map { Int($0.inSeconds) })
      return DerivedRequest(
        request: try sts.assumeRole(query), sessionName: query.role.sessionName, policy: text)
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
      let key = "session_tags.\(tag.name)"
      let value = try expanded(tag.template, key)
      guard value.isSessionTagText,
        Limits.Upstream.sessionTagValueLength.contains(value.unicodeScalars.count)
      else { throw InvalidInput(field: key, reason: "is no tag's value with this user's name") }
      values.append(STS.Tag(tag.name, value))
    }
    return STS.Hop(
      STS.RoleQuery(
        roleARN: roleARN, sessionName: try expanded(sessionName, "role_session_name"),
        duration: duration, policy: policy, policyARNs: policyARNs),
      externalID: externalID, tags: values, transitiveTags: transitiveTags,
      sourceIdentity: try sourceIdentity.map { (template) throws(InvalidInput) in
        let identity = try expanded(template, "source_identity")
        guard identity.isRoleSessionText,
          Limits.Upstream.sourceIdentityLength.contains(identity.utf8.count)
        else {
          throw InvalidInput(
            field: "source_identity", reason: "is no source identity with this user's name")
        }
        return identity
      })
  }
}
