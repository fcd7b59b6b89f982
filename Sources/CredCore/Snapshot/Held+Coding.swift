extension HeldToken {
  private enum Tag {
    static let token: UInt8 = 1
    static let expiration: UInt8 = 2
    static let issuedAt: UInt8 = 3
    // 4 was the token's audience.
    static let received: UInt8 = 5
    static let lifetime: UInt8 = 6
  }

  func write(to writer: inout SnapshotWriter) {
    writer.field(Tag.token, token.token)
    writer.field(Tag.expiration, token.expiration)
    writer.field(Tag.issuedAt, token.issuedAt)
    writer.field(Tag.received, received)
    writer.field(Tag.lifetime, lifetime)
  }

  convenience init(reading reader: SnapshotReader) throws(SnapshotError) {
    var fields = reader
    var token: Secret?
    var (expiration, issuedAt): (WallTime?, WallTime?)
    var received: Instant?
    var lifetime: Duration?
    while let field = try fields.next() {
      switch field.tag {
      case Tag.token: token = try field.secret("token", limit: 4 * Limits.tokenLength)
      case Tag.expiration: expiration = try field.wallTime("token's expiration")
      case Tag.issuedAt: issuedAt = try field.wallTime("token's age")
      case Tag.received: received = try field.instant("token's arrival")
      case Tag.lifetime: lifetime = try field.duration("token's lifetime")
      default: break
      }
    }
    guard let token, !token.isEmpty, let received else { throw .missing("token") }
    self.init(
      DeveloperToken(known: token, expiration: expiration, issuedAt: issuedAt),
      lifetime: lifetime, received: received)
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
  }

  convenience init(reading reader: SnapshotReader) throws(SnapshotError) {
    var fields = reader
    var (accessKeyID, accountID): (String?, String?)
    var (secretAccessKey, sessionToken): (Secret?, Secret?)
    var expiration: WallTime?
    var (received, refreshAt): (Instant?, Instant?)
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
      default: break
      }
    }
    guard let accessKeyID, let secretAccessKey, let sessionToken, let expiration, let received,
      let lifetime, let refreshAt
    else { throw .missing("credentials") }
    self.init(
      Credentials(
        accessKeyID: accessKeyID, secretAccessKey: secretAccessKey, sessionToken: sessionToken,
        expiration: expiration, accountID: accountID),
      lifetime: lifetime, received: received, refreshAt: refreshAt)
  }
}
