import CredCore

/// An action of `account` before a sign-in, as it counts for its user.
struct CountedAction {
  enum Kind {
    /// It makes a backend send a message, or make an account.
    case request
    /// A person types a code for it.
    case answer
  }

  let kind: Kind
  /// In whose share the uid counts.
  let account: UInt32
  let username: String
  let backend: String
  let time: Instant
}

/// What one user may make credd ask of others. A user without a name counts for its account.
final class UserLimits {
  private var calls = CallAllowance()
  private var accountActions = AccountLimiter()
  private var answers = AccountLimiter.ofAnswers
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

  /// An action of `account` that is asked for now.
  func action(
    _ kind: CountedAction.Kind, by uid: UInt32, username: String, at backend: String
  ) -> CountedAction {
    CountedAction(
      kind: kind, account: accounts.number(of: uid), username: username, backend: backend,
      time: clock.now)
  }

  /// Counts an action; its refusal after too many. What sends a message and what a person types have
  /// counts of their own.
  func count(_ action: CountedAction) -> ProtocolError? {
    let pause =
      switch action.kind {
      case .request:
        accountActions.attempt(
          by: action.account, username: action.username, at: action.backend, now: action.time)
      case .answer:
        answers.attempt(
          by: action.account, username: action.username, at: action.backend, now: action.time)
      }
    return pause.map {
      figures.hit(.accounts)
      return ProtocolError(.tooManyRequests, action.kind.refusal, retryAfter: $0)
    }
  }

  /// An action has come to nothing: no message was sent, and no code was tried.
  func takeBack(_ action: CountedAction) {
    switch action.kind {
    case .request:
      accountActions.takeBack(
        by: action.account, username: action.username, at: action.backend, countedAt: action.time)
    case .answer:
      answers.takeBack(
        by: action.account, username: action.username, at: action.backend, countedAt: action.time)
    }
  }

  /// A code was sent, or one was right: what was typed before is no guess at the next one.
  func codeChanged(by action: CountedAction) {
    answers.forgetName(action.username, of: action.account)
  }
}

extension CountedAction.Kind {
  fileprivate var refusal: String {
    switch self {
    case .request: "too many account requests; try again later"
    case .answer: "too many codes were tried; have another one sent, or try again later"
    }
  }
}
