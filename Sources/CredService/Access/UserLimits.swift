import CredCore

/// Limits for the requests that one user makes credd send to servers. A user without a name counts
/// for its account.
final class UserLimits {
  private var calls = CallAllowance()
  private var accountActions = AccountLimiter()
  private let clock: any Clock
  private let accounts: AccountDirectory
  private let figures: Figures

  init(clock: any Clock, accounts: AccountDirectory, figures: Figures) {
    self.clock = clock
    self.accounts = accounts
    self.figures = figures
  }

  /// Counts a request that forces an upstream call. Returns its refusal if its user has caused too
  /// many.
  func refusalOfCall(by uid: UInt32) -> ProtocolError? {
    calls.pause(of: accounts.number(of: uid), now: clock.now).map {
      figures.hit(.upstreamCalls)
      return ProtocolError(
        .tooManyRequests, "this user causes too many upstream calls: more than 2 a second",
        retryAfter: $0)
    }
  }

  /// A call was made because the user asked.
  func callSpent(by uid: UInt32) { calls.spent(by: accounts.number(of: uid), now: clock.now) }

  /// Counts an action of `account` that makes a backend send messages, or that lets somebody guess.
  /// Returns its refusal after too many.
  func countAccountAction(
    by uid: UInt32, username: String, at backend: String
  ) -> ProtocolError? {
    let pause = accountActions.attempt(
      by: accounts.number(of: uid), username: username, at: backend, now: clock.now)
    return pause.map {
      figures.hit(.accounts)
      return ProtocolError(
        .tooManyRequests, "too many account requests; try again later", retryAfter: $0)
    }
  }
}
