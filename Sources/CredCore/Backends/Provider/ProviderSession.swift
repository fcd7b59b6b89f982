/// A sign-in at a user pool or an OpenID Connect provider: its refresh token, and the other tokens
/// that are held.
///
/// A class because it never changes, and because few of many sessions have one: a session, its
/// snapshot and a refresh share it.
public final class ProviderSession: Sendable, Equatable {
  /// The provider that gave the tokens. credd sends them to no other.
  public let issuer: ProviderIssuer
  /// The immutable user name of a user pool; a provider's name for people to read.
  public let username: String
  /// `sub`.
  public let subject: String?
  /// The key of the device to which the refresh token is tied.
  public let deviceKey: String?
  /// `auth_time` of the sign-in.
  public let signedInAt: WallTime?
  /// The time of the sign-in on this host's clock, calculated back from the arrival of the tokens
  /// by the provider's time. Nil if that time is unknown. Renewals do not change it.
  public let provedAt: Instant?
  /// The refresh token; empty after the provider refused it, or if the provider gave none.
  public let refreshToken: Secret
  /// The ID token for the logins map; nil if it was refused or has expired.
  public let idToken: HeldProviderToken?
  /// The access token, kept only if programs may have it.
  public let accessToken: HeldProviderToken?
  /// The token endpoint that gave the refresh token: the token goes to no other address. Nil for a
  /// user pool.
  public let tokenEndpoint: String?
  /// The nonce of the first ID token of a provider's sign-in. A renewed token must not contradict
  /// it (OpenID Connect Core 1.0, 12.2). Nil if the first token had no nonce, or if an earlier
  /// daemon did not keep it.
  public let nonce: Fingerprint?
  /// Whether the identity pool took the ID token under the key of the pool's updated issuer, and not
  /// under the documented one.
  let usesUpdatedKey: Bool

  init(
    issuer: ProviderIssuer, username: String, subject: String?, deviceKey: String?,
    signedInAt: WallTime?, provedAt: Instant? = nil, refreshToken: Secret,
    idToken: HeldProviderToken?, accessToken: HeldProviderToken?, tokenEndpoint: String? = nil,
    nonce: Fingerprint? = nil, usesUpdatedKey: Bool = false
  ) {
    self.nonce = nonce
    self.usesUpdatedKey = usesUpdatedKey
    self.provedAt = provedAt
    self.tokenEndpoint = tokenEndpoint
    self.issuer = issuer
    self.username = username
    self.subject = subject
    self.deviceKey = deviceKey
    self.signedInAt = signedInAt
    self.refreshToken = refreshToken
    self.idToken = idToken
    self.accessToken = accessToken
  }

  public static func == (one: ProviderSession, other: ProviderSession) -> Bool {
    if one === other { return true }
    return one.issuer == other.issuer && one.username == other.username
      && one.subject == other.subject && one.deviceKey == other.deviceKey
      && one.signedInAt == other.signedInAt && one.provedAt == other.provedAt
      && one.refreshToken == other.refreshToken
      && one.idToken == other.idToken && one.accessToken == other.accessToken
      && one.tokenEndpoint == other.tokenEndpoint && one.nonce == other.nonce
      && one.usesUpdatedKey == other.usesUpdatedKey
  }

  /// Whether both are sign-ins of the same user at the same provider.
  public func isOfSameUser(as other: ProviderSession) -> Bool {
    guard issuer == other.issuer else { return false }
    return issuer.traits.keepsUsernames
      ? username.utf8.elementsEqual(other.username.utf8) : subject == other.subject
  }
}

// MARK: - Changes

extension ProviderSession {
  /// The session of a sign-in that has just succeeded. Without a refresh token, the session lasts
  /// as long as its ID token. Returns nil if the refresh token is missing and the provider always
  /// gives one.
  public convenience init?(_ signIn: AcceptedSignIn, keepsAccessToken: Bool) {
    let tokens = signIn.tokens
    let isMissed = signIn.issuer.traits.alwaysGivesRefreshToken
    guard let refreshToken = tokens.refresh ?? (isMissed ? nil : Secret([])) else { return nil }
    self.init(
      issuer: signIn.issuer, username: signIn.username, subject: tokens.id.subject,
      deviceKey: signIn.deviceKey, signedInAt: tokens.id.signedIn,
      provedAt: signIn.provedAt, refreshToken: refreshToken,
      idToken: tokens.heldID(signIn.serverTime, signIn.received),
      accessToken: keepsAccessToken ? tokens.heldAccess(signIn.serverTime, signIn.received) : nil,
      tokenEndpoint: signIn.tokenEndpoint, nonce: signIn.nonce)
  }

  /// Makes a session from tokens, so that they can be revoked.
  public convenience init(_ tokens: UnclaimedTokens, of issuer: ProviderIssuer) {
    self.init(
      issuer: issuer, username: "", subject: tokens.subject, deviceKey: nil, signedInAt: nil,
      refreshToken: tokens.refresh, idToken: nil, accessToken: nil,
      tokenEndpoint: issuer.traits.namesTokenEndpoint ? tokens.provider.token.text : nil)
  }

  /// This sign-in with another refresh token: the former one is dead, even if the renewal brought
  /// nothing else.
  func replacing(refreshToken: Secret) -> ProviderSession {
    ProviderSession(
      issuer: issuer, username: username, subject: subject, deviceKey: deviceKey,
      signedInAt: signedInAt, provedAt: provedAt, refreshToken: refreshToken, idToken: idToken,
      accessToken: accessToken, tokenEndpoint: tokenEndpoint, nonce: nonce,
      usesUpdatedKey: usesUpdatedKey)
  }

  /// This sign-in with new tokens. If the provider gave another refresh token, the former one is
  /// dead. The device's key and the time of the sign-in stay.
  func renewed(
    _ tokens: ProviderTokens, serverTime: WallTime?, received: Instant, keepsAccessToken: Bool
  ) -> ProviderSession {
    ProviderSession(
      issuer: issuer, username: username, subject: tokens.id.subject ?? subject,
      deviceKey: deviceKey ?? tokens.access.deviceKey,
      signedInAt: signedInAt, provedAt: provedAt, refreshToken: tokens.refresh ?? refreshToken,
      idToken: tokens.heldID(serverTime, received),
      accessToken: keepsAccessToken ? tokens.heldAccess(serverTime, received) : nil,
      tokenEndpoint: tokenEndpoint, nonce: nonce,
      usesUpdatedKey: usesUpdatedKey)
  }

  /// Whether renewed tokens belong to the user of this sign-in.
  func isUser(of tokens: ProviderTokens) -> Bool {
    // Tokens of other providers were checked for their subject when they came.
    guard issuer.traits.keepsUsernames else { return tokens.id.subject == subject }
    let names = [tokens.id.username, tokens.access.username].compactMap(\.self)
    return names.allSatisfy { $0.utf8.elementsEqual(username.utf8) }
  }

  /// This sign-in with only the chosen tokens; the refresh token stays.
  func keeping(id: Bool, access: Bool) -> ProviderSession {
    ProviderSession(
      issuer: issuer, username: username, subject: subject, deviceKey: deviceKey,
      signedInAt: signedInAt, provedAt: provedAt, refreshToken: refreshToken,
      idToken: id ? idToken : nil, accessToken: access ? accessToken : nil,
      tokenEndpoint: tokenEndpoint, nonce: nonce,
      usesUpdatedKey: usesUpdatedKey)
  }

  /// This sign-in with tokens that are not renewed before a time.
  func renewing(from start: Instant) -> ProviderSession {
    ProviderSession(
      issuer: issuer, username: username, subject: subject, deviceKey: deviceKey,
      signedInAt: signedInAt, provedAt: provedAt, refreshToken: refreshToken,
      idToken: idToken?.renewing(from: start), accessToken: accessToken?.renewing(from: start),
      tokenEndpoint: tokenEndpoint, nonce: nonce,
      usesUpdatedKey: usesUpdatedKey)
  }

  /// This sign-in with the key under which its ID token goes into a logins map.
  func using(_ key: PoolIssuers.Form) -> ProviderSession {
    ProviderSession(
      issuer: issuer, username: username, subject: subject, deviceKey: deviceKey,
      signedInAt: signedInAt, provedAt: provedAt, refreshToken: refreshToken, idToken: idToken,
      accessToken: accessToken, tokenEndpoint: tokenEndpoint, nonce: nonce,
      usesUpdatedKey: key == .updated)
  }

  /// Whether the provider gave no refresh token: what is held serves to its end, and a renewal would only
  /// end the session. False where nothing is held any more.
  var servesToItsEnd: Bool { refreshToken.isEmpty && (idToken ?? accessToken) != nil }

  /// This sign-in without tokens, when only a new sign-in helps: it still names the user.
  var withoutTokens: ProviderSession {
    ProviderSession(
      issuer: issuer, username: username, subject: subject, deviceKey: nil, signedInAt: nil,
      provedAt: nil, refreshToken: Secret([]), idToken: nil, accessToken: nil)
  }

  /// When the first of the tokens is dropped.
  var tokenEnd: Instant? {
    [idToken, accessToken].compactMap { $0?.lifetime == nil ? nil : $0?.usableUntil }.min()
  }

  /// This sign-in without expired tokens; nil if none has expired.
  func dropEnded(_ now: Instant) -> ProviderSession? {
    let keepsID = idToken.map { $0.usableUntil > now } ?? true
    let keepsAccess = accessToken.map { $0.usableUntil > now } ?? true
    return keepsID && keepsAccess ? nil : keeping(id: keepsID, access: keepsAccess)
  }
}

extension AcceptedSignIn {
  /// When the user proved who they are, on this host's clock. A time that is in the future of the
  /// provider's clock does not count.
  fileprivate var provedAt: Instant? {
    guard let signedIn = tokens.id.signedIn, let present = serverTime ?? tokens.id.issued else {
      return nil
    }
    let age = present - signedIn
    return age < .zero - Self.clockTolerance ? nil : received - max(age, .zero)
  }

  /// `Date` has whole seconds, and a provider has more than one machine.
  private static let clockTolerance = Duration.seconds(60)
}

extension ProviderTokens {
  fileprivate func heldID(_ serverTime: WallTime?, _ received: Instant) -> HeldProviderToken {
    HeldProviderToken(id.token, lifetime: id.lifetime(at: serverTime), received: received)
  }

  fileprivate func heldAccess(_ serverTime: WallTime?, _ received: Instant) -> HeldProviderToken {
    HeldProviderToken(
      access.token,
      lifetime: access.lifetime(at: serverTime) ?? accessLifetime
        // If the lifetime is unknown, the token is used again for as long as credd would not ask
        // for a new one.
        ?? Limits.User.providerDemandInterval,
      received: received)
  }
}
