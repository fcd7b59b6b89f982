import CredCore

/// Passwords and codes: which of them are being checked, how many were wrong, and how many messages
/// were sent. A user without a name counts for its account.
final class Guesses {
  /// Sessions for which a password or a code is being checked.
  private(set) var underWay: Set<SessionKey> = []
  private var passwords = PasswordLimiter()
  private var codes = AccountLimiter.ofCodes
  private let clock: any Clock
  private let accounts: AccountDirectory
  private let figures: Figures

  init(clock: any Clock, accounts: AccountDirectory, figures: Figures) {
    self.clock = clock
    self.accounts = accounts
    self.figures = figures
  }

  /// Until when a wrong password or a message counts; nil if there is none.
  var end: Instant? { [passwords.end, codes.end].compactMap(\.self).max() }

  func attempt(
    of key: SessionKey, as username: String
  ) -> PasswordLimiter.Attempt {
    PasswordLimiter.Attempt(
      uid: key.uid, account: accounts.number(of: key.uid), profile: key.profile,
      username: username)
  }

  // MARK: Passwords

  /// Refuses an attempt while another one is under way in the session, or in the pause after
  /// failures: otherwise a program could try many passwords at once. A refusal is counted.
  func refusal(of attempt: PasswordLimiter.Attempt) -> ProtocolError? {
    if isUnderWay(attempt) {
      figures.hit(.signIns)
      return ProtocolError(
        .tooManyRequests, "another sign-in of yours to this profile is under way",
        retryAfter: .seconds(1))
    }
    return passwords.pause(before: attempt, now: clock.now).map {
      figures.hit(.signIns)
      return ProtocolError(.tooManyRequests, "too many sign-ins failed", retryAfter: $0)
    }
  }

  /// Whether a password of the account is checked for the profile at this moment.
  private func isUnderWay(_ attempt: PasswordLimiter.Attempt) -> Bool {
    if underWay.contains(SessionKey(of: attempt)) { return true }
    // A user with a name has one session in each profile.
    return underWay.contains {
      $0.profile == attempt.profile && accounts.number(of: $0.uid) == attempt.account
    }
  }

  func began(in key: SessionKey) { underWay.insert(key) }

  func ended(in key: SessionKey) { underWay.remove(key) }

  /// Ends all attempts when the daemon stops.
  func endAll() { underWay = [] }

  /// How the check of a password ended.
  enum Judgement {
    case accepted
    /// Refused, or its client disconnected before the answer.
    case refused
    case none

    init(_ error: ProtocolError) {
      self =
        if error.reason == SignInReason.passwordAccepted {
          .accepted
        } else {
          error.code == .signInFailed || error.mayJudgeSecret ? .refused : .none
        }
    }
  }

  func ended(_ attempt: PasswordLimiter.Attempt, _ judgement: Judgement) {
    ended(in: SessionKey(of: attempt))
    switch judgement {
    case .accepted: succeeded(attempt)
    case .refused: failed(attempt)
    case .none: break
    }
  }

  func succeeded(_ attempt: PasswordLimiter.Attempt) { passwords.succeeded(attempt) }

  func failed(_ attempt: PasswordLimiter.Attempt) { passwords.failed(attempt, now: clock.now) }

  // MARK: Second factors

  func failed(_ factor: PasswordLimiter.Factor) { passwords.failed(factor, now: clock.now) }

  func pause(before factor: PasswordLimiter.Factor) -> Duration? {
    passwords.pause(before: factor, now: clock.now)
  }

  // MARK: Messages

  /// Limits messages: a pool sends them in every flow, at a cost, and perhaps to any user that a
  /// client names.
  ///
  /// - Parameter backend: nil if it is unknown whether the pool will send a message.
  func refusalOfMessage(
    _ attempt: PasswordLimiter.Attempt, at backend: String?
  ) -> ProtocolError? {
    let pause = codes.pause(
      of: attempt.account, username: attempt.username, at: backend, now: clock.now)
    return pause.map {
      figures.hit(.signIns)
      return ProtocolError(
        .tooManyRequests, "too many codes were asked for; try again later", retryAfter: $0)
    }
  }

  func countMessage(_ attempt: PasswordLimiter.Attempt, at backend: String?) {
    codes.count(by: attempt.account, username: attempt.username, at: backend, now: clock.now)
  }
}

extension SessionKey {
  fileprivate init(of attempt: PasswordLimiter.Attempt) {
    self.init(uid: attempt.uid, profile: attempt.profile)
  }
}
