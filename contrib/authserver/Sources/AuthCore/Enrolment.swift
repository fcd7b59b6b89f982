/// A host and what it may do.
public struct Enrolment: Sendable, Equatable {
  public var name: String
  /// Its own.
  public var rights: HostRights
  public var group: HostGroup?
  public var expires: Timestamp?
  public var revoked: Timestamp?
  public var created: Timestamp

  public init(
    name: String, rights: HostRights, group: HostGroup? = nil, expires: Timestamp? = nil,
    revoked: Timestamp? = nil, created: Timestamp
  ) {
    self.name = name
    self.rights = rights
    self.group = group
    self.expires = expires
    self.revoked = revoked
    self.created = created
  }

  /// The rights of the enrolment and of its group. Each counts alone: users of one do not come into
  /// pools of the other.
  public var allRights: [HostRights] { [rights] + (group.map { [$0.rights] } ?? []) }

  /// Names of all pools, each once.
  public var pools: [String] {
    allRights.flatMap(\.pools).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }

  public func maySignIn(_ name: String) -> Bool {
    allRights.contains { $0.signsIn.cover(name, host: self.name) }
  }

  /// Whether the host may speak for the name, or for a name that differs in case alone.
  public func vouchesForOneLike(_ name: String) -> Bool {
    allRights.contains { $0.vouches.cover(name, host: self.name, folded: true) }
  }

  /// The end after `rotate`. An end that is asked for counts. If none is asked for, an enrolment
  /// without an end keeps none. Another enrolment is renewed, but does not end before its time.
  public func renewedEnd(_ asked: Lifetime?, at now: Timestamp) -> Timestamp? {
    if let asked { return asked.end(from: now) }
    return expires.flatMap { old in Lifetime.standard.end(from: now).map { max(old, $0) } }
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

  /// - Parameter pause: the time after which the next try is admitted.
  public static func tooManyAttempts(_ pause: Interval) -> Refusal {
    Refusal(
      429, "TooManyAttempts", "too many tries: wait a moment", retryAfter: pause.retryAfter)
  }
}

/// Who asks for whom, and whether that may be.
public enum Vouching {
  /// How a host speaks for a user.
  public enum Means: String, Sendable {
    case vouched
    case signedIn
  }

  /// What a host may do for a user, by the rights that cover the user.
  public struct Decision: Sendable, Equatable {
    public let means: Means
    public let mayLink: Bool
    public let mayAdoptGuests: Bool

    init(_ means: Means, by rights: [HostRights]) {
      self.means = means
      mayLink = rights.contains(where: \.mayLink)
      mayAdoptGuests = rights.contains(where: \.mayAdoptGuests)
    }
  }

  /// - Parameters:
  ///   - session: the sign-in that was shown; nil if none was. Its secret was found right already.
  ///   - isAccount: whether the user is registered here.
  public static func decide(
    _ host: Enrolment, for user: Identifier, pool: String, provider: String,
    session: SignInSession?, isAccount: Bool, at now: Timestamp
  ) throws(Refusal) -> Decision {
    guard host.isValid(at: now) else { throw .hostNotAuthorized }
    let rights = host.allRights.filter { $0.pools.contains(pool) }
    guard !rights.isEmpty else { throw .notVouched }
    let signing = rights.filter { $0.signsIn.cover(user.name, host: host.name) }
    if let session {
      guard now < session.expires, session.host == host.name, session.provider == provider,
        session.identifier.utf8.elementsEqual(user.text.utf8)
      else { throw .sessionUnknown }
      // A right that was withdrawn ends sign-ins too.
      guard !signing.isEmpty else { throw .notVouched }
      return Decision(.signedIn, by: signing)
    }
    // With shared names an account has a bare name. It signs in, even if a host may speak for the
    // name.
    if user.kind == .vouched, !isAccount {
      let vouching = rights.filter { $0.vouches.cover(user.name, host: host.name) }
      if !vouching.isEmpty { return Decision(.vouched, by: vouching) }
    }
    if !signing.isEmpty, isAccount || user.kind == .account { throw .signInRequired }
    throw .notVouched
  }
}
