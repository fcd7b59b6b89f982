/// A sign-in at a user pool: what renews it, and the tokens that are held.
///
/// A class because it never changes, and because few of many sessions have one: a session, its
/// snapshot and a refresh share it.
public final class PoolSession: Sendable, Equatable {
  /// Who gave the tokens. They go to nobody else.
  public let issuer: PoolIssuer
  /// The immutable user name.
  public let username: String
  /// `sub`.
  public let subject: String?
  /// The key of the device to which the refresh token is tied.
  public let deviceKey: String?
  /// `auth_time`: when the user proved who they are. Renewed tokens keep it.
  public let signedInAt: WallTime?
  /// Empty after the pool refused it.
  public let refreshToken: Secret
  /// For the logins map; nil where it was refused or has expired.
  public let idToken: HeldPoolToken?
  /// Kept only where programs may have it.
  public let accessToken: HeldPoolToken?

  init(
    issuer: PoolIssuer, username: String, subject: String?, deviceKey: String?,
    signedInAt: WallTime?, refreshToken: Secret, idToken: HeldPoolToken?,
    accessToken: HeldPoolToken?
  ) {
    self.issuer = issuer
    self.username = username
    self.subject = subject
    self.deviceKey = deviceKey
    self.signedInAt = signedInAt
    self.refreshToken = refreshToken
    self.idToken = idToken
    self.accessToken = accessToken
  }

  public static func == (one: PoolSession, other: PoolSession) -> Bool {
    if one === other { return true }
    return one.issuer == other.issuer && one.username == other.username
      && one.subject == other.subject && one.deviceKey == other.deviceKey
      && one.signedInAt == other.signedInAt && one.refreshToken == other.refreshToken
      && one.idToken == other.idToken && one.accessToken == other.accessToken
  }

  /// Whether both are sign-ins of the same user at the same place.
  func isOfSameUser(as other: PoolSession) -> Bool {
    issuer == other.issuer && username.utf8.elementsEqual(other.username.utf8)
  }
}

/// A token of a user pool with its lifetime on this host's clock.
public struct HeldPoolToken: Sendable, Equatable {
  public let token: Secret
  public let received: Instant
  /// The remaining time at arrival; nil where it is unknown, and the token is used once.
  public let lifetime: Duration?

  init(_ token: Secret, lifetime: Duration?, received: Instant) {
    self.token = token
    self.received = received
    self.lifetime = lifetime
  }

  /// Until when it is used again.
  public var usableUntil: Instant {
    lifetime.map { RefreshPolicy.tokenUsableUntil(expires: received + $0, lifetime: $0) }
      ?? received
  }

  /// When it expires, on this host's clock; nil where that is unknown.
  public var expires: Instant? { lifetime.map { received + $0 } }

  /// `exp`; nil for a token that is no JWT.
  public var expiration: WallTime? { PoolToken.expiration(of: token) }

  /// Whether it may change the account: only programs that the operator trusts with it get it.
  public var mayChangeAccount: Bool { PoolToken.mayChangeAccount(token) }

  /// Whether it may go into a request now. One of unknown lifetime goes into those of its arrival.
  func isUsable(_ now: Instant) -> Bool {
    usableUntil > now || (lifetime == nil && received == now)
  }
}

// MARK: - Changes

extension PoolSession {
  /// The session of a sign-in that has just succeeded; nil without a refresh token, because such a
  /// session could not be renewed.
  convenience init?(_ signIn: PoolSignIn, keepsAccessToken: Bool) {
    guard let refreshToken = signIn.tokens.refresh else { return nil }
    let tokens = signIn.tokens
    self.init(
      issuer: signIn.issuer, username: signIn.username, subject: tokens.id.subject,
      deviceKey: signIn.deviceKey, signedInAt: tokens.id.signedIn, refreshToken: refreshToken,
      idToken: tokens.heldID(signIn.serverTime, signIn.received),
      accessToken: keepsAccessToken ? tokens.heldAccess(signIn.serverTime, signIn.received) : nil)
  }

  /// With new tokens. The pool may have given another refresh token, and then the former one is
  /// dead; it keeps the device's key and the time of the sign-in.
  func renewed(
    _ tokens: PoolTokens, serverTime: WallTime?, received: Instant, keepsAccessToken: Bool
  ) -> PoolSession {
    PoolSession(
      issuer: issuer, username: username, subject: tokens.id.subject ?? subject,
      deviceKey: deviceKey ?? tokens.access.deviceKey,
      signedInAt: tokens.id.signedIn ?? signedInAt, refreshToken: tokens.refresh ?? refreshToken,
      idToken: tokens.heldID(serverTime, received),
      accessToken: keepsAccessToken ? tokens.heldAccess(serverTime, received) : nil)
  }

  /// Whether renewed tokens are this user's.
  func mayBe(of tokens: PoolTokens) -> Bool {
    let names = [tokens.id.username, tokens.access.username].compactMap(\.self)
    return names.allSatisfy { $0.utf8.elementsEqual(username.utf8) }
  }

  /// With the tokens that are still of use; the refresh token stays.
  func keeping(id: Bool, access: Bool) -> PoolSession {
    PoolSession(
      issuer: issuer, username: username, subject: subject, deviceKey: deviceKey,
      signedInAt: signedInAt, refreshToken: refreshToken, idToken: id ? idToken : nil,
      accessToken: access ? accessToken : nil)
  }

  /// What stays of it when only a new sign-in helps: who it was.
  var withoutTokens: PoolSession {
    PoolSession(
      issuer: issuer, username: username, subject: subject, deviceKey: nil, signedInAt: nil,
      refreshToken: Secret([]), idToken: nil, accessToken: nil)
  }

  /// When the first of its tokens is dropped.
  var tokenEnd: Instant? {
    [idToken, accessToken].compactMap { $0?.lifetime == nil ? nil : $0?.usableUntil }.min()
  }

  /// Without tokens that have ended; nil if none has.
  func dropEnded(_ now: Instant) -> PoolSession? {
    let keepsID = idToken.map { $0.usableUntil > now } ?? true
    let keepsAccess = accessToken.map { $0.usableUntil > now } ?? true
    return keepsID && keepsAccess ? nil : keeping(id: keepsID, access: keepsAccess)
  }
}

extension PoolTokens {
  fileprivate func heldID(_ serverTime: WallTime?, _ received: Instant) -> HeldPoolToken {
    HeldPoolToken(id.token, lifetime: id.lifetime(at: serverTime), received: received)
  }

  fileprivate func heldAccess(_ serverTime: WallTime?, _ received: Instant) -> HeldPoolToken {
    HeldPoolToken(
      access.token, lifetime: access.lifetime(at: serverTime) ?? accessLifetime,
      received: received)
  }
}
