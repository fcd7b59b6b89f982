/// A request that could not be answered at once.
public struct Waiter: Sendable, Equatable {
  public enum Want: Sendable, Equatable {
    case credentials
    /// The backend's token for a developer user.
    case token
    /// A provider's token.
    case idToken
    case accessToken
    /// An access token for one request that the daemon makes about the account. It is lent when it
    /// arrives, and not kept for that request.
    case accountToken

    /// Whether a provider gives the wanted token.
    var isOfProvider: Bool {
      switch self {
      case .credentials, .token: false
      case .idToken, .accessToken, .accountToken: true
      }
    }
  }

  /// Given by the daemon; unique as long as the daemon runs.
  public let id: UInt64
  public let want: Want
  /// The least remaining lifetime that the caller accepts.
  public let minimumLife: Duration?
  /// The caller accepts only credentials or tokens that arrive from now on.
  public let mustRefresh: Bool
  public let arrived: Instant
  /// When the caller is answered at the latest.
  public let deadline: Instant
  /// Whether no client waits, but a derived session that is renewed because it is in use.
  public var isUnattended = false
  /// Whether a forced refresh leaves the source of a derived session as it is.
  public var sparesSource = false
  /// Whether the next try answers this waiter even if it fails. `check` sets this: it shows the failure,
  /// and does not wait for further tries.
  public var triesOnce = false

  public init(
    id: UInt64, want: Want, minimumLife: Duration? = nil, mustRefresh: Bool = false,
    arrived: Instant, wait: Duration
  ) {
    self.id = id
    self.want = want
    self.minimumLife = minimumLife
    self.mustRefresh = mustRefresh
    self.arrived = arrived
    self.deadline = arrived + wait
  }

  /// Whether the caller demands more than other callers get.
  var isDemanding: Bool { mustRefresh || minimumLife != nil }

  /// From when on the caller accepts credentials that are merely valid.
  var acceptsStaleFrom: Instant { min(arrived + RefreshPolicy.grace, deadline) }
}

// MARK: - What a waiter accepts

extension Waiter {
  /// The credentials or the token that a waiter may get, with the lifetime on this host's clock.
  struct Offer {
    let received: Instant
    /// Nil if the lifetime is unknown.
    let lifetime: Duration?
    /// The lifetime of the next one, if ``isRepeatable``.
    var nextLifetime: Duration?
    /// Until when it is handed out to callers without demands.
    let usableUntil: Instant
    /// Whether it answers a caller that forces a refresh, if it arrived after the caller.
    let isAnew: Bool
    /// Whether the next one lasts as long as this one.
    let isRepeatable: Bool
    /// The noun for the text of a refusal: the credentials or a kind of token.
    let shown: String

    var expires: Instant? { lifetime.map { received + $0 } }

    init(_ credentials: HeldCredentials) {
      received = credentials.received
      lifetime = credentials.lifetime
      usableUntil = credentials.servableUntil
      isAnew = credentials.isAnew
      isRepeatable = true
      shown = "credentials of this profile"
    }

    init(_ token: HeldToken) {
      received = token.received
      lifetime = token.lifetime
      usableUntil = token.usableUntil
      isAnew = token.isAnew
      isRepeatable = false
      shown = "the backend's tokens"
    }

    init(_ token: HeldProviderToken) {
      received = token.received
      lifetime = token.lifetime
      usableUntil = token.usableUntil
      isAnew = true
      isRepeatable = false
      shown = "the user pool's tokens"
    }
  }

  /// Whether the offer is good enough for the caller.
  func accepts(_ offer: Offer, _ now: Instant) -> Bool {
    if let minimumLife, offer.expires.map({ $0 - now < minimumLife }) ?? false { return false }
    if mustRefresh { return offer.isAnew && offer.received >= arrived }
    return offer.received >= arrived || offer.usableUntil > now
  }

  /// The refusal of a `min_ttl` that no refresh can meet.
  ///
  /// - Parameter offer: the offer that the waiter does not accept, or not yet.
  func demandsTooMuch(of offer: Offer, _ now: Instant) -> ProtocolError? {
    guard let minimumLife, let lifetime = offer.lifetime else { return nil }
    let isNew = offer.received >= arrived
    if offer.isRepeatable {
      let isTooShort =
        isNew
        ? offer.received + lifetime - now < minimumLife
        : offer.nextLifetime ?? lifetime < minimumLife
      // A forced refresh is carried out first: the role may allow a longer lifetime by now.
      guard isTooShort, isNew || !mustRefresh else { return nil }
    } else {
      guard isNew else { return nil }
    }
    return ProtocolError(
      .invalidRequest,
      "min_ttl asks for \(Int(minimumLife.inSeconds)) s, but \(offer.shown) last "
        + "\(Int(lifetime.inSeconds)) s")
  }
}
