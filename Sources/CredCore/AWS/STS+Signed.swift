/// The calls of STS that a session's own credentials sign (STS API reference, 2011-06-15, and botocore's
/// model of 2026-11-19, which has GetScopedCredentials).
extension STS {
  /// The parameters of GetScopedCredentials: the same session, with less permission or a shorter life.
  public struct Scope: Sendable, Equatable {
    /// Policy in JSON, 1 to 2,048 characters.
    public var policy: String?
    /// Seconds, 1 to 129,600; nil for the source's own end.
    public var duration: Int?
    /// For CloudTrail, 2 to 256 characters.
    public var description: String?

    public init(policy: String?, duration: Int? = nil, description: String? = nil) {
      self.policy = policy
      self.duration = duration
      self.description = description
    }
  }

  /// The parameters of AssumeRole that AssumeRoleWithWebIdentity does not have.
  public struct Hop: Sendable, Equatable {
    public var role: RoleQuery
    /// 2 to 1,224 characters.
    public var externalID: String?
    /// Names and values, at most 50.
    public var tags: [Tag]
    /// Names of tags that go on to a role which the session assumes.
    public var transitiveTags: [String]
    /// 2 to 256 characters. It stays for good, in every session that follows.
    public var sourceIdentity: String?

    public init(
      _ role: RoleQuery, externalID: String? = nil, tags: [Tag] = [],
      transitiveTags: [String] = [], sourceIdentity: String? = nil
    ) {
      self.role = role
      self.externalID = externalID
      self.tags = tags
      self.transitiveTags = transitiveTags
      self.sourceIdentity = sourceIdentity
    }
  }

  /// A session tag.
  public struct Tag: Sendable, Equatable {
    public let name: String
    public let value: String

    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// GetScopedCredentials, to be signed.
  ///
  /// - Throws: if the scope exceeds one of the documented limits, or asks for nothing.
  public func getScopedCredentials(_ scope: Scope) throws(InvalidInput) -> HTTPRequest {
    try scope.check()
    return request("GetScopedCredentials") { form in
      if let policy = scope.policy { form.append("Policy", policy) }
      if let duration = scope.duration { form.append("DurationSeconds", String(duration)) }
      if let text = scope.description { form.append("ScopedSessionDescription", text) }
    }
  }

  /// AssumeRole, to be signed.
  ///
  /// - Throws: if the query exceeds one of the documented limits.
  public func assumeRole(_ hop: Hop) throws(InvalidInput) -> HTTPRequest {
    try hop.role.check()
    return request("AssumeRole") { form in
      form.append(hop.role)
      for (index, tag) in hop.tags.enumerated() {
        form.append("Tags.member.\(index + 1).Key", tag.name)
        form.append("Tags.member.\(index + 1).Value", tag.value)
      }
      for (index, name) in hop.transitiveTags.enumerated() {
        form.append("TransitiveTagKeys.member.\(index + 1)", name)
      }
      if let externalID = hop.externalID { form.append("ExternalId", externalID) }
      if let identity = hop.sourceIdentity { form.append("SourceIdentity", identity) }
    }
  }
}

/// What STS answered to a signed call.
public struct SignedReply: Sendable, Equatable {
  /// With the session that STS named.
  public var credentials: Credentials
  /// ARN of that session.
  public let sessionARN: String
  /// Scope-down policies of the session after the call; nil of AssumeRole, and where STS left it out.
  public let scopes: Int?
  /// The server's time, from the reply's `Date`.
  public let serverTime: WallTime?
}

extension STS {
  /// Reads the reply to GetScopedCredentials.
  public static func scoped(from reply: HTTPReply) throws(UpstreamFailure) -> SignedReply {
    try signed(reply, "GetScopedCredentialsResult", FailureTable.scope) { $0["SessionInfo"] }
  }

  /// Reads the reply to AssumeRole.
  public static func assumed(from reply: HTTPReply) throws(UpstreamFailure) -> SignedReply {
    try signed(reply, "AssumeRoleResult", FailureTable.hop) { $0["AssumedRoleUser"] }
  }

  private static func signed(
    _ reply: HTTPReply, _ name: String, _ table: [FailureTable.Row],
    _ session: (XMLElement) -> XMLElement?
  ) throws(UpstreamFailure) -> SignedReply {
    let document = try successful(reply, FailureTable.denialsOfSource + table)
    return try checked(.sts) { () throws(InvalidInput) in
      guard let result = document[name] else {
        throw InvalidInput(field: name, reason: "is missing")
      }
      let arn = try session(result)?.requiredText("Arn") ?? ""
      guard let account = accountID(arn) else {
        throw InvalidInput(field: "Arn", reason: "is missing or no session's ARN")
      }
      let scopes = try count("ScopedPoliciesCount", in: result)
      var session = STSSession(arn: arn, scopes: scopes ?? 0)
      session.tokenUtilization = try count("SessionTokenUtilization", in: result)
      // The caller judges when it ends: an answer that is over is a refused one.
      var credentials = try credentials(in: result, of: account, at: nil)
      credentials.session = session
      return SignedReply(
        credentials: credentials, sessionARN: arn, scopes: scopes, serverTime: reply.date)
    }
  }

  private static func count(
    _ name: String, in result: XMLElement
  ) throws(InvalidInput) -> Int? {
    guard let text = result[name]?.text.exposedText() else { return nil }
    guard let number = Int(text), number >= 0 else {
      throw InvalidInput(field: name, reason: "is no count")
    }
    return number
  }
}

extension STS.Scope {
  fileprivate func check() throws(InvalidInput) {
    guard policy != nil || duration != nil else {
      throw InvalidInput(field: "Policy", reason: "and DurationSeconds are both missing")
    }
    if let policy { try STS.check(policy: policy) }
    if let duration, !Limits.Upstream.scopeSeconds.contains(duration) {
      throw InvalidInput(field: "DurationSeconds", reason: "is not 1 to 129600")
    }
    if let description {
      let isTaken = description.unicodeScalars.allSatisfy { (0x20...0x7E).contains($0.value) }
      guard Limits.Upstream.scopeDescriptionLength.contains(description.count), isTaken else {
        throw InvalidInput(
          field: "ScopedSessionDescription", reason: "is not 2 to 256 characters of ASCII")
      }
    }
  }
}
