extension HeldToken {
  private enum Tag {
    static let token: UInt8 = 1
    static let expiration: UInt8 = 2
    // Never use these numbers again: 3 was the token's `iat`, 4 its audience.
    static let received: UInt8 = 5
    static let lifetime: UInt8 = 6
  }

  func write(to writer: inout SnapshotWriter) {
    writer.field(Tag.token, token.token)
    writer.field(Tag.expiration, token.expiration)
    writer.field(Tag.received, received)
    writer.field(Tag.lifetime, lifetime)
  }

  convenience init(reading reader: SnapshotReader) throws(SnapshotError) {
    var fields = reader
    var token: Secret?
    var expiration: WallTime?
    var received: Instant?
    var lifetime: Duration?
    while let field = try fields.next() {
      switch field.tag {
      case Tag.token: token = try field.secret("token", limit: 4 * Limits.Upstream.tokenLength)
      case Tag.expiration: expiration = try field.wallTime("token's expiration")
      case Tag.received: received = try field.instant("token's arrival")
      case Tag.lifetime: lifetime = try field.duration("token's lifetime")
      default: break
      }
    }
    guard let token, !token.isEmpty, let received else { throw .missing("token") }
    self.init(
      DeveloperToken(known: token, expiration: expiration), lifetime: lifetime,
      received: received)
  }
}

extension HeldCredentials {
  private enum Tag {
    static let accessKeyID: UInt8 = 1
    static let secretAccessKey: UInt8 = 2
    static let sessionToken: UInt8 = 3
    static let expiration: UInt8 = 4
    static let accountID: UInt8 = 5
    static let received: UInt8 = 6
    static let lifetime: UInt8 = 7
    static let refreshAt: UInt8 = 8
    static let session: UInt8 = 9
  }

  func write(to writer: inout SnapshotWriter) {
    writer.field(Tag.accessKeyID, credentials.accessKeyID)
    writer.field(Tag.secretAccessKey, credentials.secretAccessKey)
    writer.field(Tag.sessionToken, credentials.sessionToken)
    writer.field(Tag.expiration, credentials.expiration)
    writer.field(Tag.accountID, credentials.accountID)
    writer.field(Tag.received, received)
    writer.field(Tag.lifetime, lifetime)
    writer.field(Tag.refreshAt, refreshAt)
    if let session = credentials.session {
      writer.group(Tag.session) { session.write(to: &$0) }
    }
  }

  convenience init(reading reader: SnapshotReader) throws(SnapshotError) {
    var fields = reader
    var (accessKeyID, accountID): (String?, String?)
    var (secretAccessKey, sessionToken): (Secret?, Secret?)
    var expiration: WallTime?
    var (received, refreshAt): (Instant?, Instant?)
    var session: STSSession?
    var lifetime: Duration?
    while let field = try fields.next() {
      switch field.tag {
      case Tag.accessKeyID: accessKeyID = try field.text("access key")
      case Tag.secretAccessKey: secretAccessKey = try field.secret("secret key")
      case Tag.sessionToken: sessionToken = try field.secret("session token")
      case Tag.expiration: expiration = try field.wallTime("expiration")
      case Tag.accountID: accountID = try field.text("account")
      case Tag.received: received = try field.instant("arrival")
      case Tag.lifetime: lifetime = try field.duration("lifetime")
      case Tag.refreshAt: refreshAt = try field.instant("refresh")
      case Tag.session: session = try STSSession(reading: field.fields)
      default: break
      }
    }
    guard let accessKeyID, let secretAccessKey, let sessionToken, let expiration, let received,
      let lifetime, let refreshAt
    else { throw .missing("credentials") }
    self.init(
      Credentials(
        accessKeyID: accessKeyID, secretAccessKey: secretAccessKey, sessionToken: sessionToken,
        expiration: expiration, accountID: accountID, session: session),
      lifetime: lifetime, received: received, refreshAt: refreshAt)
  }
}

extension STSSession {
  private enum Tag {
    static let arn: UInt8 = 1
    static let scopes: UInt8 = 2
    static let tokenUtilization: UInt8 = 3
    static let sourceAccessKeyID: UInt8 = 4
    static let policySHA256: UInt8 = 5
  }

  fileprivate func write(to writer: inout SnapshotWriter) {
    writer.field(Tag.arn, arn)
    writer.field(Tag.scopes, Int64(scopes))
    if let tokenUtilization { writer.field(Tag.tokenUtilization, Int64(tokenUtilization)) }
    writer.field(Tag.sourceAccessKeyID, sourceAccessKeyID)
    writer.field(Tag.policySHA256, policySHA256)
  }

  fileprivate init(reading reader: SnapshotReader) throws(SnapshotError) {
    var fields = reader
    var arn: String?
    self.init(arn: "")
    while let field = try fields.next() {
      switch field.tag {
      case Tag.arn: arn = try field.text("session's ARN")
      case Tag.scopes: scopes = try field.count("scopes")
      case Tag.tokenUtilization: tokenUtilization = try field.count("token's size")
      case Tag.sourceAccessKeyID: sourceAccessKeyID = try field.text("source's key")
      case Tag.policySHA256: policySHA256 = try field.text("policy's digest")
      default: break
      }
    }
    guard let arn else { throw .missing("session's ARN") }
    self.arn = arn
  }
}

extension UpstreamFailure {
  private enum Tag {
    static let upstream: UInt8 = 1
    static let backend: UInt8 = 2
    static let kind: UInt8 = 3
    static let retryAfter: UInt8 = 4
    static let code: UInt8 = 5
    static let message: UInt8 = 6
    static let severity: UInt8 = 7
    static let isWithheld: UInt8 = 8
    static let summary: UInt8 = 9
    static let reason: UInt8 = 10
    static let evidence: UInt8 = 11
    static let detail: UInt8 = 12
  }

  /// A text with an upstream's words in it may be too long to be read again. Its beginning says what to do;
  /// it is cut behind a word.
  private static func cut(_ text: String) -> String {
    guard text.utf8.count > Limits.Store.textBytes else { return text }
    // Room for the ellipsis, and for the mark in place of half a character.
    let head = text.utf8.prefix(Limits.Store.textBytes - 8)
    let end = head.lastIndex(of: UInt8(ascii: " ")) ?? head.endIndex
    return "\(String(decoding: head[..<end], as: UTF8.self)) …"
  }

  /// The number of a kind of failure. It keeps its meaning for ever; a new kind gets the next
  /// number.
  private static func number(of kind: FailureClass) -> UInt8 {
    switch kind {
    case .transient: 0
    case .throttled: 1
    case .newTokenOnce: 2
    case .dropIdentityThenNewToken: 3
    case .retryWithoutIdentity: 4
    case .newIdentity: 5
    case .signInRequired: 6
    case .signInFailed: 7
    case .refusedByBackend: 8
    case .unknownUser: 9
    case .conflict: 10
    case .poolMisconfigured: 11
    case .permanentConfiguration: 12
    }
  }

  /// The kind of failure; nil for a number of a newer daemon.
  private static func kind(_ number: UInt8) -> FailureClass? {
    switch number {
    case 0: .transient(retryAfter: nil)
    case 1: .throttled(retryAfter: nil)
    case 2: .newTokenOnce
    case 3: .dropIdentityThenNewToken
    case 4: .retryWithoutIdentity
    case 5: .newIdentity
    case 6: .signInRequired
    case 7: .signInFailed
    case 8: .refusedByBackend
    case 9: .unknownUser
    case 10: .conflict
    case 11: .poolMisconfigured
    case 12: .permanentConfiguration
    default: nil
    }
  }

  func write(to writer: inout SnapshotWriter) {
    switch upstream {
    case .cognitoIdentity: writer.field(Tag.upstream, 0 as UInt8)
    case .sts: writer.field(Tag.upstream, 1 as UInt8)
    case .backend(let name):
      writer.field(Tag.upstream, 2 as UInt8)
      writer.field(Tag.backend, name)
    }
    writer.field(Tag.kind, Self.number(of: failureClass))
    writer.field(Tag.retryAfter, failureClass.retryAfter)
    writer.field(Tag.code, code.rawValue)
    writer.field(Tag.message, Self.cut(message))
    writer.field(Tag.severity, severity == .operatorMustAct ? 1 as UInt8 : 0)
    if isWithheld { writer.field(Tag.isWithheld, 1 as UInt8) }
    if summary != message { writer.field(Tag.summary, Self.cut(summary)) }
    writer.field(Tag.reason, reason)
    writer.field(Tag.detail, detail.map(Self.cut))
    if evidence != .none { writer.field(Tag.evidence, evidence.rawValue) }
  }

  /// Returns nil if a newer daemon stored a kind, a code or an upstream that this daemon does not know.
  static func read(_ reader: SnapshotReader) throws(SnapshotError) -> UpstreamFailure? {
    var fields = reader
    var (number, kind, severity): (UInt8?, UInt8?, UInt8) = (nil, nil, 0)
    var isWithheld = false
    var (backend, code, message) = ("", "", "")
    var detail: String?
    var (summary, reason, evidence): (String?, String?, Evidence) = (nil, nil, .none)
    var delay: Duration?
    while let field = try fields.next() {
      switch field.tag {
      case Tag.upstream: number = try field.byte("upstream")
      case Tag.backend: backend = try field.text("backend")
      case Tag.kind: kind = try field.byte("failure")
      case Tag.retryAfter: delay = try field.duration("pause")
      case Tag.code: code = try field.text("code")
      case Tag.message: message = try field.text("message")
      case Tag.severity: severity = try field.byte("severity")
      case Tag.isWithheld: isWithheld = try field.byte("withheld") == 1
      case Tag.summary: summary = try field.text("summary")
      case Tag.detail: detail = try field.text("detail")
      case Tag.reason: reason = try field.text("reason")
      case Tag.evidence: evidence = Evidence(rawValue: try field.byte("evidence")) ?? .none
      default: break
      }
    }
    let upstream: Upstream? =
      switch number {
      case 0: .cognitoIdentity
      case 1: .sts
      case 2: .backend(backend)
      default: nil
      }
    guard let upstream, let kind = kind.flatMap(Self.kind),
      let code = ProtocolErrorCode(rawValue: code)
    else { return nil }
    var failure = UpstreamFailure(
      upstream: upstream, failureClass: kind.with(retryAfter: delay), code: code,
      message: message, summary: summary,
      severity: severity == 1 ? .operatorMustAct : .expected)
    failure.isWithheld = isWithheld
    failure.reason = reason
    failure.detail = detail
    failure.evidence = evidence
    return failure
  }
}
