/// Where a session stands: the states that users of the mobile SDKs know.
///
/// `signedOut → signedIn → (tokensInvalid → signedIn) → signedOut`; `guest` where the profile
/// allows it. Being offline changes none of them.
public enum Standing: Sendable, Equatable {
  /// Nobody is signed in; by the user's own wish, where `byUser`. Goes to `guest` or `signedIn`.
  case signedOut(byUser: Bool)
  /// An unauthenticated identity. Goes to `signedIn` or `signedOut`.
  case guest
  /// Goes to `tokensInvalid` where the sign-in is refused, to `signedOut` by a logout.
  case signedIn(Voucher)
  /// What vouched for the user no longer does: it takes a `login`, or a backend that changes its
  /// mind. Goes to `signedIn` or `signedOut`.
  case tokensInvalid(Voucher)

  /// The contract's word for it.
  public var name: String {
    switch self {
    case .signedOut: "signedOut"
    case .guest: "guest"
    case .signedIn: "signedIn"
    case .tokensInvalid: "tokensInvalid"
    }
  }
}
