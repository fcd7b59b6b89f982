/// A host and what it may do.
public struct Enrolment: Sendable, Equatable {
  public var name: String
  /// For whom its word counts.
  public var vouches: Patterns
  /// Who may sign in on it.
  public var signsIn: Patterns
  /// Names of pools in the configuration.
  public var pools: [String]
  public var mayLink: Bool
  public var mayAdoptGuests: Bool
  public var expires: Timestamp?
  public var revoked: Timestamp?
  public var created: Timestamp

  public init(
    name: String, vouches: Patterns = .none, signsIn: Patterns = .none, pools: [String],
    mayLink: Bool = false, mayAdoptGuests: Bool = false,
    expires: Timestamp? = nil, revoked: Timestamp? = nil, created: Timestamp
  ) {
    self.name = name
    self.vouches = vouches
    self.signsIn = signsIn
    self.pools = pools
    self.mayLink = mayLink
    self.mayAdoptGuests = mayAdoptGuests
    self.expires = expires
    self.revoked = revoked
    self.created = created
  }

  public func isValid(at now: Timestamp) -> Bool {
    revoked == nil && (expires.map { now < $0 } ?? true)
  }

  /// A host's name stands in patterns, logs and tables.
  public static func checkName(_ name: String) throws(InvalidName) {
    try InvalidName.check(name)
    let allowed = name.utf8.allSatisfy {
      ($0 | 0x20) >= UInt8(ascii: "a") && ($0 | 0x20) <= UInt8(ascii: "z")
        || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || "._-".utf8.contains($0)
    }
    guard allowed, name.utf8.count <= 253 else {
      throw InvalidName("is not a host's name: letters, digits, '.', '_' and '-', 253 at most")
    }
  }
}

/// A sign-in that is still good. It belongs to host, user and developer provider.
public struct SignInSession: Sendable, Equatable {
  public var id, hash, host, identifier, provider: String
  public var created, expires: Timestamp

  public init(
    id: String, hash: String, host: String, identifier: String, provider: String,
    created: Timestamp, expires: Timestamp
  ) {
    self.id = id
    self.hash = hash
    self.host = host
    self.identifier = identifier
    self.provider = provider
    self.created = created
    self.expires = expires
  }
}

/// One of the reasons for which a request is refused, as the answer names it.
public struct Refusal: Error, Sendable, Equatable {
  public let status: Int
  public let code: String
  public let message: String
  /// Seconds after which the same request may succeed.
  public var retryAfter: Int?

  public init(_ status: Int, _ code: String, _ message: String, retryAfter: Int? = nil) {
    self.status = status
    self.code = code
    self.message = message
    self.retryAfter = retryAfter
  }

  /// One answer for a token that is missing, unknown, wrong, expired or revoked.
  public static let hostNotAuthorized = Refusal(
    401, "HostNotAuthorized",
    "this host is not enrolled, or its token is wrong, expired or revoked: "
      + "'credd-authserver host list' on the server shows the hosts")
  public static let sessionUnknown = Refusal(
    401, "SessionUnknown", "the sign-in has ended: sign in again")
  public static let signInRequired = Refusal(
    401, "SignInRequired", "this user signs in with a password on this host")
  public static let loginFailed = Refusal(401, "LoginFailed", "wrong user name or password")
  public static let unknownUser = Refusal(404, "UnknownUser", "there is no such user")
  public static let userDisabled = Refusal(403, "UserDisabled", "the user is disabled")
  public static let notVouched = Refusal(
    403, "NotVouched", "this host does not speak for this user in this pool")
}

/// Who asks for whom, and whether that may be.
public enum Vouching {
  /// How a host speaks for a user.
  public enum Means: String, Sendable {
    case vouched
    case signedIn
  }

  /// - Parameters:
  ///   - session: the sign-in that was shown, already found good for its secret; nil where none
  ///     was shown.
  ///   - isAccount: the user is registered here.
  public static func decide(
    _ host: Enrolment, for user: Identifier, pool: String, provider: String,
    session: SignInSession?, isAccount: Bool, at now: Timestamp
  ) throws(Refusal) -> Means {
    guard host.isValid(at: now) else { throw .hostNotAuthorized }
    guard host.pools.contains(pool) else { throw .notVouched }
    if let session {
      guard now < session.expires, session.host == host.name, session.provider == provider,
        session.identifier.utf8.elementsEqual(user.text.utf8)
      else { throw .sessionUnknown }
      // A right that was withdrawn ends sign-ins too.
      guard host.signsIn.cover(user.name, host: host.name) else { throw .notVouched }
      return .signedIn
    }
    // With shared names an account has a bare name; it signs in, whoever vouches for that name.
    if user.kind == .vouched, !isAccount, host.vouches.cover(user.name, host: host.name) {
      return .vouched
    }
    let maySignIn = host.signsIn.cover(user.name, host: host.name)
    if maySignIn, isAccount || user.kind == .account { throw .signInRequired }
    throw .notVouched
  }
}
