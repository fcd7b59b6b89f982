extension ProviderSession {
  private enum Tag {
    static let pool: UInt8 = 1
    static let clientID: UInt8 = 2
    static let endpoint: UInt8 = 3
    static let username: UInt8 = 4
    static let subject: UInt8 = 5
    static let deviceKey: UInt8 = 6
    static let signedInAt: UInt8 = 7
    static let refreshToken: UInt8 = 8
    static let idToken: UInt8 = 9
    static let accessToken: UInt8 = 10
    // Stored in place of a user pool.
    static let provider: UInt8 = 11
    static let loginsKey: UInt8 = 12
    static let tokenEndpoint: UInt8 = 13
    static let provedAt: UInt8 = 14
    /// Present, with the value 1, if the identity pool wants the key of the updated issuer.
    static let usesUpdatedKey: UInt8 = 15
    /// The hash of the nonce.
    static let nonce: UInt8 = 16
  }

  func write(to writer: inout SnapshotWriter) {
    switch issuer.kind {
    case .cognito(let pool): writer.field(Tag.pool, pool.description)
    case .oidc(let provider, let key):
      writer.field(Tag.provider, provider.description)
      writer.field(Tag.loginsKey, key)
    }
    writer.field(Tag.clientID, issuer.clientID)
    writer.field(Tag.endpoint, issuer.url)
    writer.field(Tag.username, username)
    writer.field(Tag.subject, subject)
    writer.field(Tag.deviceKey, deviceKey)
    writer.field(Tag.signedInAt, signedInAt)
    writer.field(Tag.provedAt, provedAt)
    writer.field(Tag.refreshToken, refreshToken)
    if let idToken { writer.group(Tag.idToken) { idToken.write(to: &$0) } }
    if let accessToken { writer.group(Tag.accessToken) { accessToken.write(to: &$0) } }
    writer.field(Tag.tokenEndpoint, tokenEndpoint)
    if usesUpdatedKey { writer.field(Tag.usesUpdatedKey, 1 as UInt8) }
    if let nonce { writer.field(Tag.nonce, nonce.value) }
  }

  convenience init(reading reader: SnapshotReader) throws(SnapshotError) {
    var fields = reader
    var (pool, clientID, endpoint): (UserPoolID?, String?, String?)
    var (username, subject, deviceKey): (String?, String?, String?)
    var signedInAt: WallTime?
    var provedAt: Instant?
    var refreshToken: Secret?
    var (idToken, accessToken): (HeldProviderToken?, HeldProviderToken?)
    var (provider, loginsKey, tokenEndpoint): (OIDCIssuer?, String?, String?)
    var nonce: Fingerprint?
    var usesUpdatedKey = false
    while let field = try fields.next() {
      switch field.tag {
      case Tag.pool:
        pool = try? UserPoolID(field.text("user pool"))
        guard pool != nil else { throw .invalid("user pool") }
      case Tag.clientID: clientID = try field.text("app client")
      case Tag.endpoint: endpoint = try field.text("endpoint")
      case Tag.username: username = try field.text("user name")
      case Tag.subject: subject = try field.text("subject")
      case Tag.deviceKey: deviceKey = try field.text("device")
      case Tag.signedInAt: signedInAt = try field.wallTime("time of the sign-in")
      case Tag.provedAt: provedAt = try field.instant("time of the sign-in")
      case Tag.refreshToken:
        refreshToken = try field.secret("refresh token", limit: Limits.Upstream.tokenLength)
      case Tag.idToken: idToken = try HeldProviderToken(reading: field.fields)
      case Tag.accessToken: accessToken = try HeldProviderToken(reading: field.fields)
      case Tag.provider:
        provider = try? OIDCIssuer(field.text("provider"))
        guard provider != nil else { throw .invalid("provider") }
      case Tag.loginsKey: loginsKey = try field.text("key in the logins map")
      case Tag.tokenEndpoint: tokenEndpoint = try field.text("token endpoint")
      case Tag.nonce: nonce = Fingerprint(value: try field.word("nonce"))
      case Tag.usesUpdatedKey: usesUpdatedKey = try field.byte("key in the logins map") != 0
      default: break
      }
    }
    guard let clientID, let endpoint, let username, let refreshToken else {
      throw .missing("user pool's session")
    }
    let issuer: ProviderIssuer
    if let pool {
      issuer = ProviderIssuer(pool: pool, clientID: clientID, url: endpoint)
    } else if let provider, let loginsKey {
      issuer = ProviderIssuer(
        provider: provider, loginsKey: loginsKey, clientID: clientID, url: endpoint)
    } else {
      throw .missing("user pool's session")
    }
    self.init(
      issuer: issuer, username: username, subject: subject, deviceKey: deviceKey,
      signedInAt: signedInAt, provedAt: provedAt, refreshToken: refreshToken, idToken: idToken,
      accessToken: accessToken, tokenEndpoint: tokenEndpoint, nonce: nonce,
      usesUpdatedKey: usesUpdatedKey)
  }
}

extension HeldProviderToken {
  private enum Tag {
    static let token: UInt8 = 1
    static let received: UInt8 = 2
    static let lifetime: UInt8 = 3
  }

  fileprivate func write(to writer: inout SnapshotWriter) {
    writer.field(Tag.token, token)
    writer.field(Tag.received, received)
    writer.field(Tag.lifetime, lifetime)
  }

  fileprivate init(reading reader: SnapshotReader) throws(SnapshotError) {
    var fields = reader
    var token: Secret?
    var received: Instant?
    var lifetime: Duration?
    while let field = try fields.next() {
      switch field.tag {
      case Tag.token:
        token = try field.secret("user pool's token", limit: Limits.Upstream.tokenLength)
      case Tag.received: received = try field.instant("arrival")
      case Tag.lifetime: lifetime = try field.duration("lifetime")
      default: break
      }
    }
    guard let token, !token.isEmpty, let received else { throw .missing("user pool's token") }
    self.init(token, lifetime: lifetime, received: received)
  }
}
