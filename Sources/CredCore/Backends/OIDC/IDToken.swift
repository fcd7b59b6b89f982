/// A checked ID token that came directly from a provider's token endpoint (OpenID Connect Core 1.0,
/// 3.1.3.7 and 12.2). TLS proves its origin, so credd does not verify the signature; Cognito does.
public struct IDToken: Sendable, Equatable {
  /// Passed on unchanged.
  public let token: Secret
  /// `sub`: the provider's name for the user, which never changes.
  public let subject: String
  public let expiration: WallTime
  /// `iat`.
  let issued: WallTime?
  /// `auth_time`: when the user proved who they are.
  public let signedIn: WallTime?
  /// A name that people know, as the provider gives it; only for display.
  public let username: String?
  /// A hash of `nonce`, by which renewed tokens are known; nil where the token has none.
  let nonce: Fingerprint?
  /// `alg`. Identity pools take RS256.
  public let algorithm: String

  /// The expected values of a token.
  struct Expectation: Sendable {
    enum Nonce: Sendable {
      /// The sign-in by browser has sent this nonce.
      case sent(Secret)
      /// A sign-in by device code has no nonce.
      case notSent
      /// A renewal. The token may have no nonce, or the nonce of the session's first token. `first`
      /// is nil if the first token had no nonce, or if an earlier daemon did not keep it.
      case renewed(first: Fingerprint?)
    }

    var issuer: OIDCIssuer
    var clientID: String
    /// Others that a token may be for too.
    var trustedAudiences: [String] = []
    var nonce: Nonce
    /// The user of the renewed session; nil at a sign-in.
    var subject: String?
    /// The time by the provider's clock.
    var now: WallTime
    /// Whether programs of this host get the token. Cognito and STS verify what goes to them.
    var isVended = false
  }

  /// - Throws: if the token does not fit this client, user, sign-in and time.
  init(_ token: Secret, _ expected: Expectation) throws(IDTokenProblem) {
    guard token.count <= Limits.Upstream.tokenLength, token.bytes.allSatisfy(\.isVisible),
      let header = JWT.header(of: token), let claims = JWT.claims(of: token)
    else { throw IDTokenProblem("is no JWT of at most \(Limits.Upstream.tokenLength) characters") }
    self.token = token
    algorithm = try Self.algorithm(header)
    if expected.isVended { try Self.checkVended(token, header, claims, algorithm, expected.now) }
    try Self.checkIssuer(claims, expected.issuer)
    try Self.checkAudience(claims, expected.clientID, expected.trustedAudiences)
    subject = try Self.subject(claims, expected.subject)
    expiration = try Self.expiration(claims, expected.now)
    issued = try Self.issued(claims, expected.now)
    try Self.checkNonce(claims["nonce"], expected.nonce)
    nonce = claims["nonce"].flatMap(Self.hash)
    if let use = claims["token_use"]?.text, use != "id" {
      throw IDTokenProblem("is for another use (token_use is \(use.quoted))")
    }
    signedIn = Self.time(claims["auth_time"])
    username = Self.username(claims)
  }

  private static func algorithm(_ header: JSONValue) throws(IDTokenProblem) -> String {
    guard let algorithm = header["alg"]?.text, (1...32).contains(algorithm.utf8.count) else {
      throw IDTokenProblem("does not say how it is signed (alg)")
    }
    guard algorithm.lowercased() != "none" else {
      throw IDTokenProblem("is not signed (alg is none)")
    }
    return algorithm
  }

  /// Algorithms that a receiver can check by the provider's public keys (RFC 7518, 3.1; RFC 8037; RFC
  /// 8812).
  private static let publicAlgorithms: Set = [
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "ES256K",
    "EdDSA",
  ]

  /// Refuses a token that a careful receiver would refuse. A program that gets it from credd may not look.
  private static func checkVended(
    _ token: Secret, _ header: JSONValue, _ claims: JSONValue, _ algorithm: String, _ now: WallTime
  ) throws(IDTokenProblem) {
    guard publicAlgorithms.contains(algorithm) else {
      throw IDTokenProblem(
        "is signed by \(algorithm.quoted), which programs cannot check by the provider's public keys (alg): "
          + "set RS256 for the client at the provider")
    }
    guard header["crit"] == nil else {
      throw IDTokenProblem("demands what credd does not know (crit)")
    }
    guard JWT.hasSignature(token) else { throw IDTokenProblem("has no signature") }
    guard time(claims["nbf"]).map({ $0 - now <= Limits.OIDC.clockSkew }) ?? true else {
      throw IDTokenProblem(
        "is not valid yet (nbf): the clock here or at the provider is wrong")
    }
  }

  private static func checkIssuer(
    _ claims: JSONValue, _ issuer: OIDCIssuer
  ) throws(IDTokenProblem) {
    guard let text = claims["iss"]?.text else { throw IDTokenProblem("names no issuer (iss)") }
    guard issuer.isEqual(to: text) else {
      throw IDTokenProblem(
        "is from issuer \(text.quoted), and the backend's is \(issuer.description.quoted): set "
          + "issuer as the provider writes it, its last slash included")
    }
  }

  private static func audiences(_ claims: JSONValue) throws(IDTokenProblem) -> [String] {
    switch claims["aud"] {
    case .array(let values)?:
      let texts = values.compactMap(\.text)
      guard texts.count == values.count else {
        throw IDTokenProblem("has an audience (aud) that is no text")
      }
      return texts
    case let value?: return value.text.map { [$0] } ?? []
    case nil: return []
    }
  }

  private static func checkAudience(
    _ claims: JSONValue, _ clientID: String, _ trusted: [String]
  ) throws(IDTokenProblem) {
    let audiences = try audiences(claims)
    let isOwn = { (text: String) in text.utf8.elementsEqual(clientID.utf8) }
    guard audiences.contains(where: isOwn) else {
      throw IDTokenProblem("is for another client (aud): check client_id")
    }
    let others = audiences.filter { !isOwn($0) }
    let isTrusted = { (text: String) in trusted.contains { $0.utf8.elementsEqual(text.utf8) } }
    if let other = others.first(where: { !isTrusted($0) }) {
      throw IDTokenProblem(
        "is for \(other.quoted) too (aud): if the provider means it so, name it in "
          + "trusted_audiences")
    }
    switch claims["azp"] {
    case nil, .null?:
      // Among several, it alone says who asked for the token.
      guard others.isEmpty else {
        throw IDTokenProblem(
          "is for several (aud) and does not say to which client it was given (azp)")
      }
    case let party?:
      guard let text = party.text, isOwn(text) else {
        throw IDTokenProblem("was given to another client (azp): check client_id")
      }
    }
  }

  private static func subject(
    _ claims: JSONValue, _ expected: String?
  ) throws(IDTokenProblem) -> String {
    guard let subject = claims["sub"]?.text,
      (1...Limits.OIDC.subjectLength).contains(subject.unicodeScalars.count),
      subject.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
    else { throw IDTokenProblem("names no user (sub)") }
    if let expected, !expected.utf8.elementsEqual(subject.utf8) {
      throw IDTokenProblem("is another user's than the session's (sub)", isOfAnotherUser: true)
    }
    return subject
  }

  private static func expiration(
    _ claims: JSONValue, _ now: WallTime
  ) throws(IDTokenProblem) -> WallTime {
    guard let time = time(claims["exp"]) else {
      throw IDTokenProblem("does not say when it ends (exp)")
    }
    guard time > now else { throw IDTokenProblem("has expired already (exp)") }
    return time
  }

  private static func issued(
    _ claims: JSONValue, _ now: WallTime
  ) throws(IDTokenProblem) -> WallTime? {
    let time = time(claims["iat"])
    guard time.map({ $0 - now <= Limits.OIDC.clockSkew }) ?? true else {
      throw IDTokenProblem("is from the future (iat): the clock here or at the provider is wrong")
    }
    return time
  }

  private static func checkNonce(
    _ claim: JSONValue?, _ expected: Expectation.Nonce
  ) throws(IDTokenProblem) {
    switch expected {
    case .notSent: break
    case .sent(let nonce):
      guard let given = claim?.secret, nonce.isSame(as: given.bytes) else {
        throw IDTokenProblem("belongs to another sign-in (nonce)")
      }
    // OpenID Connect Core 1.0, 12.2.
    case .renewed(let first):
      guard let first, let claim, claim != .null else { return }
      guard hash(claim) == first else {
        throw IDTokenProblem(
          "belongs to another sign-in than the session that was renewed (nonce): tell those who "
            + "run the provider")
      }
    }
  }

  private static func hash(_ nonce: JSONValue) -> Fingerprint? {
    nonce.text.map { Fingerprint(ofNonce: $0) }
  }

  private static func time(_ value: JSONValue?) -> WallTime? {
    value?.double.flatMap { WallTime(plausibleSecondsSince1970: $0) }
  }

  static func username(_ claims: JSONValue) -> String? {
    ["cognito:username", "preferred_username", "email", "name"].lazy
      .compactMap { claims[$0]?.text }
      .first {
        (1...Limits.OIDC.subjectLength).contains($0.unicodeScalars.count)
          && $0.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
      }
  }

  /// The remaining time at arrival, by the provider's clock.
  public func lifetime(at serverTime: WallTime?) -> Duration? {
    (serverTime ?? issued).map { max(.zero, expiration - $0) }
  }

  /// Whether Cognito cannot verify the token.
  public var needsOtherAlgorithm: Bool { algorithm != "RS256" }
}

extension Fingerprint {
  /// It need not withstand an attacker: the provider itself gives the tokens that are compared, over TLS.
  public init(ofNonce nonce: String) {
    self.init()
    add(nonce)
  }
}

/// Why an ID token is not used. It quotes no token.
struct IDTokenProblem: Error, Equatable {
  /// Follows "the ID token".
  let reason: String
  var isOfAnotherUser = false

  init(_ reason: String, isOfAnotherUser: Bool = false) {
    self.reason = reason
    self.isOfAnotherUser = isOfAnotherUser
  }
}

/// Claims that an ID token must have, so that a Unix user can sign in only with their own account
/// (`require.CLAIM`).
public struct RequiredClaims: Sendable, Equatable {
  /// The claims with their values for one user.
  public let claims: [(name: String, value: String)]

  public init(_ claims: [(name: String, value: String)] = []) {
    self.claims = claims
  }

  /// The first claim that the token does not have; nil if it has all.
  ///
  /// A claim fits if its bytes are equal, as a text or as one text of a list. An address counts
  /// only if the provider says that it is verified; otherwise it may belong to anybody.
  ///
  /// - Parameter isRenewed: whether the token came with a renewal. Such a token may omit claims
  ///   (OpenID Connect Core 1.0, 12.2), but the claims that it has must fit.
  public func problem(in token: IDToken, isRenewed: Bool = false) -> String? {
    let held = JWT.claims(of: token.token)
    let isJudged = { (name: String) in !isRenewed || held?[name] != nil }
    for claim in claims where isJudged(claim.name) {
      guard Self.fits(held?[claim.name], claim.value) else {
        return "its claim \(claim.name.quoted) is not \(claim.value.quoted)"
      }
      if claim.name == "email", isJudged("email_verified"),
        !(held?["email_verified"]?.isTrue ?? false)
      {
        return "the provider does not say that it has verified its claim \"email\" (email_verified)"
      }
    }
    return nil
  }

  private static func fits(_ claim: JSONValue?, _ value: String) -> Bool {
    switch claim {
    case .string(let text)?: text.bytes.elementsEqual(value.utf8)
    case .bool(let bool)?: value == (bool ? "true" : "false")
    case .number(let digits)?: digits == value
    case .array(let values)?:
      values.contains { $0.secret?.bytes.elementsEqual(value.utf8) ?? false }
    case .null?, .object?, nil: false
    }
  }

  public static func == (one: Self, other: Self) -> Bool {
    one.claims.elementsEqual(other.claims) { $0 == $1 }
  }
}

extension JSONValue {
  /// Some providers write the value as a text.
  var isTrue: Bool { bool == true || text == "true" }
}
