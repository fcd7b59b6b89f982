/// One refresh under way: a chain of upstream calls, one at a time.
struct Refresh: Sendable, Equatable {
  /// The remedies that were tried. Each is tried once, so that a refresh always ends.
  struct Remedies: OptionSet, Sendable {
    let rawValue: UInt8
    static let newToken = Remedies(rawValue: 1)
    static let droppedIdentity = Remedies(rawValue: 2)
    static let withoutIdentity = Remedies(rawValue: 4)
    static let newIdentity = Remedies(rawValue: 8)
    static let olderRenewal = Remedies(rawValue: 16)
    static let withoutLink = Remedies(rawValue: 32)
    static let otherKey = Remedies(rawValue: 64)
  }

  /// The call that is awaited; nil before the first. The outcome of another call is stale.
  var call: CallID?
  /// Where the chain ends.
  var goal: Waiter.Want
  var remedies: Remedies = []
  /// How the user is signed in after a success; nil for guests.
  var method: SignInMethod?
  /// The token of GetOpenIdToken, for STS.
  var openIDToken: Secret?
  var hasReadTokenFile = false
  /// Whether a caller wants a new token of the backend, so that the held token is not used.
  var isForced = false
  /// It waits for a renewal at the provider that another refresh asked for.
  var isAfterRenewal = false
  /// The held token came in this refresh.
  var hasNewToken = false
  /// The call renews a linked sign-in, before the callback that brings it.
  var renewsLink = false
  /// The renewal was tried: the callback now goes with the ID token that there is, if any.
  var hasTriedLink = false
  /// The call brings the backend the linked sign-in.
  var bringsLink = false
  /// The call brings the backend logins of a client, to be linked.
  var bringsLogins = false
  /// The other key of a user pool that this refresh tries; nil once the key has worked.
  var triedKey: PoolIssuers.Form?
  /// The failure because of which the refresh tries the other key.
  var keyFailure: UpstreamFailure?
  /// Logins that Cognito has to accept one by one before anything else is called.
  var unreadLogins: [LoginsMap.Login] = []
  /// The call has the first of them alone.
  var provesLogin = false
  /// The source was asked for credentials with enough time left.
  var hasAskedSource = false
  /// The call is signed with the source's credentials.
  var isDeriving = false
  /// The identity of the session's user as the refresh began.
  var knownIdentity: IdentityID?

  /// A backend that keeps its tokens must not give the refused one again.
  var wasTokenRefused: Bool {
    !remedies.isDisjoint(with: [.newToken, .droppedIdentity, .newIdentity])
  }
}
