import CredCore

/// An action of `account` before a sign-in, as it counts for its user.
struct CountedAction {
  enum Kind {
    /// It makes a backend send a message, or make an account.
    ///
    /// - Parameter sends: the kind of code in the message, if it has one.
    case request(sends: AccountLimiter.Code?)
    /// A person types a code for it.
    case answer(AccountLimiter.Code)
  }

  let kind: Kind
  /// The account for which the uid counts.
  let account: UInt32
  let username: String
  let backend: String
  let time: Instant
}

/// What one user may make credd ask of others. A user without a name counts for its account.
final class UserLimits {
  /// For each socket with a cap, and for all others together.
  private var calls: [UnixSocketPath?: CallAllowance] = [:]
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

  /// Until when an action of `account` or a code counts; nil if there is none.
  var end: Instant? { [accountActions.end, answers.end].compactMap(\.self).max() }

  /// Counts a request that forces an upstream call. Returns its refusal if its user has caused too
  /// many.
  ///
  /// - Parameter allowance: see ``ClientSocket/allowance``.
  func refusalOfCall(by uid: UInt32, at allowance: UnixSocketPath? = nil) -> ProtocolError? {
    calls[allowance, default: CallAllowance()].pause(of: accounts.number(of: uid), now: clock.now)
      .map {
        figures.hit(.upstreamCalls)
        return ProtocolError(
          .tooManyRequests,
          "this user causes too many upstream calls: more than 2 a second, a fixed limit",
          retryAfter: $0)
      }
  }

  /// A call was made because the user asked.
  func callSpent(by uid: UInt32, at allowance: UnixSocketPath? = nil) {
    calls[allowance, default: CallAllowance()].spent(by: accounts.number(of: uid), now: clock.now)
  }

  /// An action of `account` that is asked for now.
  func action(
    _ kind: CountedAction.Kind, by uid: UInt32, username: String, at backend: String
  ) -> CountedAction {
    CountedAction(
      kind: kind, account: accounts.number(of: uid), username: username, backend: backend,
      time: clock.now)
  }

  /// Counts an action, and refuses it after too many. Messages and typed codes are counted apart.
  func count(_ action: CountedAction) -> ProtocolError? {
    let pause =
      switch action.kind {
      case .request:
        accountActions.attempt(
          by: action.account, username: action.username, at: action.backend, now: action.time)
      case .answer(let code):
        answers.attempt(
          by: action.account, username: action.username, for: code, at: action.backend,
          now: action.time)
      }
    return pause.map {
      figures.hit(.accounts)
      return ProtocolError(.tooManyRequests, action.kind.refusal, retryAfter: $0)
    }
  }

  /// An action has come to nothing: no message was sent, and no code was tried. Its user and its
  /// backend had the call, so it stays counted for them.
  func takeBack(_ action: CountedAction) {
    switch action.kind {
    case .request:
      accountActions.takeBack(
        by: action.account, username: action.username, countedAt: action.time)
    case .answer(let code):
      answers.takeBack(
        by: action.account, username: action.username, for: code, countedAt: action.time)
    }
  }

  /// The action has succeeded. If it had a code sent, or its code was right, the tries before are no
  /// guesses at the next code of the same kind.
  func succeeded(_ action: CountedAction) {
    guard let code = action.kind.code else { return }
    answers.forgetTries(of: action.username, code, by: action.account)
  }
}

extension CountedAction.Kind {
  /// The kind of code that it has sent, or that it tries.
  fileprivate var code: AccountLimiter.Code? {
    switch self {
    case .request(let code): code
    case .answer(let code): code
    }
  }

  fileprivate var refusal: String {
    switch self {
    case .request: "too many account requests; try again later"
    case .answer: "too many codes were tried; have another one sent, or try again later"
    }
  }
}
