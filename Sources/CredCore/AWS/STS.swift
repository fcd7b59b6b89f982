/// AWS STS, AssumeRoleWithWebIdentity: the second step of the basic flow, and the whole direct one (STS
/// API reference, 2011-06-15). The request is an unsigned form, the reply XML.
public struct STS: Sendable, Equatable {
  /// The parameters of AssumeRoleWithWebIdentity.
  public struct RoleQuery: Sendable, Equatable {
    public var roleARN: String
    /// `[\w+=,.@-]{2,64}`.
    public var sessionName: String
    /// Seconds; nil for AWS's default, one hour.
    public var duration: Int?
    /// A session policy in JSON, which can only restrict the role.
    public var policy: String?
    public var policyARNs: [String]

    public init(
      roleARN: String, sessionName: String, duration: Int? = nil, policy: String? = nil,
      policyARNs: [String] = []
    ) {
      self.roleARN = roleARN
      self.sessionName = sessionName
      self.duration = duration
      self.policy = policy
      self.policyARNs = policyARNs
    }
  }

  public let host: AWSHost

  public init(_ host: AWSHost) {
    self.host = host
  }

  /// - Throws: if the query exceeds one of the documented limits.
  public func assumeRole(
    _ query: RoleQuery, token: Secret
  ) throws(InvalidInput) -> HTTPRequest {
    try query.check()
    guard Limits.Upstream.webIdentityTokenLength.contains(token.count) else {
      throw InvalidInput(field: "WebIdentityToken", reason: "is not 4 to 20000 characters")
    }
    return request("AssumeRoleWithWebIdentity") { form in
      form.append(query)
      form.append("WebIdentityToken", token)
    }
  }

  func request(_ action: String, _ parameters: (inout FormBody) -> Void) -> HTTPRequest {
    var form = FormBody()
    form.append("Action", action)
    form.append("Version", "2011-06-15")
    parameters(&form)
    return HTTPRequest(
      method: .post, url: host.url,
      headers: [HTTPHeader("Content-Type", FormBody.contentType)], body: Secret(form.bytes))
  }

  /// Reads the reply. The account is in the assumed role's ARN.
  ///
  /// - Parameter isDirect: whether the token was a provider's own, and not Cognito's.
  public static func credentials(
    from reply: HTTPReply, isDirect: Bool = false
  ) throws(UpstreamFailure) -> CredentialsReply {
    let document = try successful(
      reply, FailureTable.denialsOfToken + (isDirect ? FailureTable.direct : FailureTable.sts))
    return try checked(.sts) { () throws(InvalidInput) in
      let result = document["AssumeRoleWithWebIdentityResult"]
      let arn = result?["AssumedRoleUser"]?["Arn"]?.text.exposedText()
      var credentials = try credentials(in: result, of: arn.flatMap(accountID), at: reply.date)
      // Something that is no session's ARN says nothing.
      if credentials.accountID != nil { credentials.session = arn.map { STSSession(arn: $0) } }
      return CredentialsReply(
        identity: nil, credentials: credentials, serverTime: reply.date)
    }
  }

  /// The `Credentials` of a result.
  ///
  /// - Parameter now: the server's time; nil if the reply has none.
  static func credentials(
    in result: XMLElement?, of account: String?, at now: WallTime?
  ) throws(InvalidInput) -> Credentials {
    guard let members = result?["Credentials"] else {
      throw InvalidInput(field: "Credentials", reason: "is missing")
    }
    let expiration = try WallTime(iso8601: members.requiredText("Expiration"))
    return Credentials(
      accessKeyID: try CredentialRules.accessKeyID(members.requiredText("AccessKeyId")),
      secretAccessKey: try CredentialRules.key(
        members.required("SecretAccessKey"), "SecretAccessKey"),
      sessionToken: try CredentialRules.key(members.required("SessionToken"), "SessionToken"),
      expiration: try CredentialRules.expiration(expiration, at: now), accountID: account)
  }

  /// The document of a reply that is no error.
  ///
  /// - Parameter table: what the operation's errors mean.
  static func successful(
    _ reply: HTTPReply, _ table: [FailureTable.Row]
  ) throws(UpstreamFailure) -> XMLElement {
    guard reply.body.count <= Limits.Upstream.awsReplyBytes else {
      throw .transport(.tooLarge, from: .sts)
    }
    guard reply.status == 200, !reply.looksLikeHTML else { throw failure(reply, table) }
    return try checked(.sts) { () throws(InvalidInput) in try document(reply) }
  }

  /// `arn:PARTITION:sts::ACCOUNT:assumed-role/ROLE/SESSION`.
  static func accountID(_ arn: String) -> String? {
    let parts = arn.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count >= 6, parts[0] == "arn", parts[4].utf8.count == 12,
      parts[4].utf8.allSatisfy(\.isDigit)
    else { return nil }
    return String(parts[4])
  }

  static func check(policy: String) throws(InvalidInput) {
    guard Limits.Upstream.policyLength.contains(policy.unicodeScalars.count) else {
      throw InvalidInput(field: "Policy", reason: "is empty or over 2048 characters")
    }
  }

  private static func failure(
    _ reply: HTTPReply, _ table: [FailureTable.Row]
  ) -> UpstreamFailure {
    let root = try? XMLReader.parse(reply.body.bytes)
    let error = (root?["Error"]).flatMap { error in
      (error["Code"]?.text.exposedText()).flatMap {
        RemoteError(name: $0, message: error["Message"]?.text, hiding: reply.sent)
      }
    }
    return .aws(reply, error, from: .sts, table: table)
  }

  private static func document(_ reply: HTTPReply) throws(InvalidInput) -> XMLElement {
    guard !reply.body.isCompressed else { throw .compressedReply }
    do throws(XMLError) {
      return try XMLReader.parse(reply.body.bytes)
    } catch {
      throw InvalidInput(
        field: "the reply", reason: "is no XML at byte \(error.offset): it \(error.reason)")
    }
  }
}

extension FormBody {
  /// The parameters of every call that assumes a role.
  mutating func append(_ query: STS.RoleQuery) {
    append("RoleArn", query.roleARN)
    append("RoleSessionName", query.sessionName)
    if let duration = query.duration { append("DurationSeconds", String(duration)) }
    if let policy = query.policy { append("Policy", policy) }
    for (index, arn) in query.policyARNs.enumerated() {
      append("PolicyArns.member.\(index + 1).arn", arn)
    }
  }
}

extension STS.RoleQuery {
  /// Checks the limits of the STS API reference before a call.
  func check() throws(InvalidInput) {
    try Self.check(arn: roleARN, "RoleArn")
    guard sessionName.isRoleSessionName else {
      throw InvalidInput(
        field: "role_session_name",
        reason:
          "gives \(sessionName.quoted), which is not 2 to 64 letters, digits or any of _+=,.@-")
    }
    if let duration, !Limits.Upstream.roleSeconds.contains(duration) {
      throw InvalidInput(field: "DurationSeconds", reason: "is not 900 to 43200")
    }
    if let policy { try STS.check(policy: policy) }
    guard policyARNs.count <= Limits.Upstream.policyARNs else {
      throw InvalidInput(field: "PolicyArns", reason: "are more than \(Limits.Upstream.policyARNs)")
    }
    for arn in policyARNs { try Self.check(arn: arn, "PolicyArns") }
  }

  private static func check(arn: String, _ field: String) throws(InvalidInput) {
    guard Limits.Upstream.roleARNLength.contains(arn.unicodeScalars.count), arn.hasPrefix("arn:")
    else {
      throw InvalidInput(field: field, reason: "is no ARN of 20 to 2048 characters")
    }
  }
}
