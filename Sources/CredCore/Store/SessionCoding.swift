extension SessionSnapshot {
  /// The tags of a session's fields. A tag keeps its meaning for ever.
  private enum Tag {
    static let state: UInt8 = 1
    static let identityID: UInt8 = 2
    static let login: UInt8 = 3
    static let expiration: UInt8 = 4
    static let token: UInt8 = 5
    static let credentials: UInt8 = 6
    static let username: UInt8 = 7
    static let customRoleARN: UInt8 = 8
    static let lastAsked: UInt8 = 9
    static let refreshCount: UInt8 = 10
    static let failures: UInt8 = 11
    /// The last pause of the back-off, from which the next one grows.
    static let previousPause: UInt8 = 12
    static let pause: UInt8 = 13
    static let lastFailure: UInt8 = 14
    static let isIdentityWithheld: UInt8 = 15
    static let link: UInt8 = 16
    static let endedLogin: UInt8 = 17
    /// The identity of the ended logins, where the session has none.
    static let endedIdentity: UInt8 = 18
    static let isIdentityOfGuest: UInt8 = 19
  }

  /// The tags of a pause or a past failure.
  private enum FailureTag {
    static let failure: UInt8 = 1
    static let at: UInt8 = 2
    static let callersFrom: UInt8 = 3
  }

  func write(to writer: inout SnapshotWriter) {
    writer.group(Tag.state) { held.state.write(to: &$0) }
    writer.field(Tag.identityID, held.identityID?.description)
    if held.isIdentityWithheld, !held.state.isOfClientsToken {
      writer.field(Tag.isIdentityWithheld, 1 as UInt8)
    }
    if held.isIdentityOfGuest { writer.field(Tag.isIdentityOfGuest, 1 as UInt8) }
    for login in held.logins.logins {
      writer.group(Tag.login) {
        $0.field(1, login.provider)
        $0.field(2, login.token)
      }
    }
    for (provider, end) in held.loginExpirations.ends.sorted(by: { $0.key < $1.key }) {
      writer.group(Tag.expiration) {
        $0.field(1, provider)
        $0.field(2, end.time)
        $0.field(3, end.isAnnounced ? 1 as UInt8 : 0)
      }
    }
    for (provider, subject) in held.endedLogins.all {
      writer.group(Tag.endedLogin) {
        $0.field(1, provider)
        $0.field(2, subject)
      }
    }
    if held.identityID == nil {
      writer.field(Tag.endedIdentity, held.endedLogins.identityID?.description)
    }
    if let token = held.token { writer.group(Tag.token) { token.write(to: &$0) } }
    if let link = held.link { writer.group(Tag.link) { link.write(to: &$0) } }
    if let credentials = held.credentials {
      writer.group(Tag.credentials) { credentials.write(to: &$0) }
    }
    writer.field(Tag.username, held.username)
    writer.field(Tag.customRoleARN, held.customRoleARN)
    writer.field(Tag.lastAsked, lastAsked)
    writer.field(Tag.refreshCount, Int64(refreshCount))
    writer.field(Tag.failures, Int64(held.backOff.failures))
    writer.field(Tag.previousPause, held.backOff.previous)
    if let pause = held.pause {
      writer.group(Tag.pause) {
        $0.group(FailureTag.failure) { pause.failure.write(to: &$0) }
        $0.field(FailureTag.at, pause.until)
        $0.field(FailureTag.callersFrom, pause.callersFrom)
      }
    }
    if let lastFailure {
      writer.group(Tag.lastFailure) {
        $0.group(FailureTag.failure) { lastFailure.failure.write(to: &$0) }
        $0.field(FailureTag.at, lastFailure.at)
      }
    }
  }

  init(reading fields: SnapshotReader) throws(SnapshotError) {
    var fields = fields
    var state: SignInState?
    var lastAsked: Instant?
    var logins: [(provider: String, token: Secret)] = []
    var ends: [String: LoginExpirations.End] = [:]
    var ended: [(provider: String, subject: String?)] = []
    var endedIdentity: IdentityID?
    var (failures, previousPause) = (0, BackOff.shortest)
    var isIdentityOfGuest = false
    self.init(lastAsked: Instant(nanoseconds: 0))
    while let field = try fields.next() {
      switch field.tag {
      case Tag.state: state = try SignInState(reading: field.fields)
      case Tag.identityID: held.identityID = try Self.identityID(field)
      case Tag.login:
        // The map itself refuses too many logins. This check limits the work before that.
        guard logins.count <= Limits.Upstream.logins else { throw .tooLong("logins") }
        logins.append(try Self.login(field.fields))
      case Tag.expiration:
        let (provider, end) = try Self.expiration(field.fields)
        ends[provider] = end
        // One end for each login and one for a developer token.
        guard ends.count <= Limits.Upstream.logins + 1 else { throw .tooLong("expirations") }
      case Tag.endedLogin:
        ended.append(try Self.endedLogin(field.fields))
      case Tag.endedIdentity: endedIdentity = try Self.identityID(field)
      case Tag.token: held.token = try HeldToken(reading: field.fields)
      case Tag.link: held.link = try ProviderSession(reading: field.fields)
      case Tag.credentials: held.credentials = try HeldCredentials(reading: field.fields)
      case Tag.username: held.username = try field.text("user name")
      case Tag.customRoleARN: held.customRoleARN = try field.text("custom role")
      case Tag.lastAsked: lastAsked = try field.instant("last use")
      case Tag.refreshCount: refreshCount = try field.count("refreshCount")
      case Tag.failures: failures = try field.count("failures")
      case Tag.previousPause: previousPause = try field.duration("pause")
      case Tag.pause: held.pause = try Self.pause(field.fields)
      case Tag.isIdentityWithheld:
        held.isIdentityWithheld = try field.byte("provenance of the IdentityId") != 0
      case Tag.isIdentityOfGuest:
        isIdentityOfGuest = try field.byte("provenance of the IdentityId") != 0
      case Tag.lastFailure: lastFailure = try Self.pastFailure(field.fields)
      default: break
      }
    }
    guard let state else { throw .missing("state") }
    guard let lastAsked else { throw .missing("last use") }
    held.state = state
    if state.isOfClientsToken, held.identityID != nil { held.isIdentityWithheld = true }
    held.isIdentityOfGuest =
      isIdentityOfGuest && held.identityID != nil && held.credentials == nil
    self.lastAsked = lastAsked
    guard let map = try? LoginsMap(logins) else { throw .invalid("logins") }
    held.logins = map
    held.loginExpirations = LoginExpirations(ends)
    // An earlier daemon kept them only together with their identity.
    held.endedLogins = EndedLogins(ended, of: held.identityID, or: endedIdentity)
    held.backOff = BackOff(failures: failures, previous: previousPause)
  }

  private static func identityID(_ field: SnapshotReader.Field) throws(SnapshotError) -> IdentityID
  {
    guard let identityID = try? IdentityID(field.text("IdentityId")) else {
      throw .invalid("IdentityId")
    }
    return identityID
  }

  private static func login(
    _ reader: SnapshotReader
  ) throws(SnapshotError) -> (provider: String, token: Secret) {
    var fields = reader
    var provider: String?
    var token: Secret?
    while let field = try fields.next() {
      switch field.tag {
      case 1: provider = try field.text("provider")
      case 2: token = try field.secret("login", limit: 4 * Limits.Upstream.tokenLength)
      default: break
      }
    }
    guard let provider, let token else { throw .missing("login") }
    return (provider, token)
  }

  private static func endedLogin(
    _ reader: SnapshotReader
  ) throws(SnapshotError) -> (provider: String, subject: String?) {
    var fields = reader
    var (provider, subject): (String?, String?)
    while let field = try fields.next() {
      switch field.tag {
      case 1: provider = try field.text("provider")
      case 2: subject = try field.text("subject")
      default: break
      }
    }
    guard let provider else { throw .missing("provider") }
    return (provider, subject)
  }

  private static func expiration(
    _ reader: SnapshotReader
  ) throws(SnapshotError) -> (String, LoginExpirations.End) {
    var fields = reader
    var provider: String?
    var time: Instant?
    var isAnnounced = false
    while let field = try fields.next() {
      switch field.tag {
      case 1: provider = try field.text("provider")
      case 2: time = try field.instant("expiration")
      case 3: isAnnounced = try field.byte("expiration") != 0
      default: break
      }
    }
    guard let provider, let time else { throw .missing("expiration") }
    return (provider, LoginExpirations.End(time: time, isAnnounced: isAnnounced))
  }

  /// Returns nil if this daemon does not know the kind of the failure. Without the pause, the
  /// session starts one more refresh.
  private static func pause(_ reader: SnapshotReader) throws(SnapshotError) -> Pause? {
    let (failure, at, callersFrom) = try failure(reader)
    guard let failure, let at, let callersFrom else { return nil }
    return Pause(failure, until: at, callersFrom: callersFrom)
  }

  private static func pastFailure(_ reader: SnapshotReader) throws(SnapshotError) -> PastFailure? {
    let (failure, at, _) = try failure(reader)
    guard let failure, let at else { return nil }
    return PastFailure(failure: failure, at: at)
  }

  private static func failure(
    _ reader: SnapshotReader
  ) throws(SnapshotError) -> (UpstreamFailure?, Instant?, Instant?) {
    var fields = reader
    var failure: UpstreamFailure?
    var at: Instant?
    var callersFrom: Instant?
    while let field = try fields.next() {
      switch field.tag {
      case FailureTag.failure: failure = try UpstreamFailure.read(field.fields)
      case FailureTag.at: at = try field.instant("failure")
      case FailureTag.callersFrom: callersFrom = try field.instant("failure")
      default: break
      }
    }
    return (failure, at, callersFrom)
  }
}

extension SignInState {
  /// Whether the identity came with a client's developer token. credd withholds such an identity from
  /// backends, and need not store that it does.
  fileprivate var isOfClientsToken: Bool {
    self == .signedIn(.developerToken) || self == .tokensInvalid(.developerToken)
  }

  private enum Tag {
    static let kind: UInt8 = 1
    static let method: UInt8 = 2
    static let session: UInt8 = 3
    static let developerUserIdentifier: UInt8 = 4
    static let providerSession: UInt8 = 5
  }

  func write(to writer: inout SnapshotWriter) {
    switch self {
    case .signedOut(byUser: false): writer.field(Tag.kind, 0 as UInt8)
    case .signedOut(byUser: true): writer.field(Tag.kind, 1 as UInt8)
    case .guest: writer.field(Tag.kind, 2 as UInt8)
    case .signedIn(let method):
      writer.field(Tag.kind, 3 as UInt8)
      Self.write(method, to: &writer)
    case .tokensInvalid(let method):
      writer.field(Tag.kind, 4 as UInt8)
      Self.write(method, to: &writer)
    }
  }

  private static func write(_ method: SignInMethod, to writer: inout SnapshotWriter) {
    switch method {
    case .host: writer.field(Tag.method, 0 as UInt8)
    case .password(let session):
      writer.field(Tag.method, 1 as UInt8)
      writer.field(Tag.session, session.token)
      writer.field(Tag.developerUserIdentifier, session.developerUserIdentifier)
    case .developerToken: writer.field(Tag.method, 2 as UInt8)
    case .logins: writer.field(Tag.method, 3 as UInt8)
    case .tokenFile: writer.field(Tag.method, 4 as UInt8)
    case .provider(let session):
      writer.field(Tag.method, 5 as UInt8)
      writer.group(Tag.providerSession) { session.write(to: &$0) }
    case .source: writer.field(Tag.method, 6 as UInt8)
    }
  }

  init(reading reader: SnapshotReader) throws(SnapshotError) {
    var fields = reader
    var (kind, method): (UInt8?, UInt8?)
    var session: Secret?
    var identifier: String?
    var pool: ProviderSession?
    while let field = try fields.next() {
      switch field.tag {
      case Tag.kind: kind = try field.byte("state")
      case Tag.method: method = try field.byte("method")
      case Tag.session: session = try field.secret("backend session")
      case Tag.developerUserIdentifier: identifier = try field.text("developer user identifier")
      case Tag.providerSession: pool = try ProviderSession(reading: field.fields)
      default: break
      }
    }
    switch kind {
    case 0: self = .signedOut(byUser: false)
    case 1: self = .signedOut(byUser: true)
    case 2: self = .guest
    case 3: self = .signedIn(try Self.method(method, session, identifier, pool))
    case 4: self = .tokensInvalid(try Self.method(method, session, identifier, pool))
    default: throw .invalid("state")
    }
  }

  private static func method(
    _ kind: UInt8?, _ session: Secret?, _ identifier: String?, _ pool: ProviderSession?
  ) throws(SnapshotError) -> SignInMethod {
    switch kind {
    case 0: return .host
    case 1:
      guard let session else { throw .missing("backend session") }
      return .password(BackendSession(token: session, developerUserIdentifier: identifier))
    case 2: return .developerToken
    case 3: return .logins
    case 4: return .tokenFile
    case 5:
      guard let pool else { throw .missing("user pool's session") }
      return .provider(pool)
    case 6: return .source
    default: throw .invalid("method")
    }
  }
}
