import CredCore
import Logging

/// Forgets unused sessions.
///
/// A timer goes through all sessions, a few at a time. A cached answer must cost nothing, so credd
/// records only the first use after each refresh, and the first use after each look. Hence a
/// session is forgotten when two looks and `forget_after` have passed since the last recorded use.
/// That is never before `forget_after` without a use, and at most a quarter of it later.
final class Forgetting {
  /// How often each session is looked at within the shortest `forget_after`.
  static let looks = 8
  /// How many sessions are looked at in one iteration of the loop.
  static let batch = 64

  /// The last session that was looked at; nil when a round begins.
  private var last: SessionKey?
  private var isArmed = false
  private var timer: (any Timer)?
  private let clock: any Clock
  private let log: Logger
  private let configuration: ConfigurationInForce
  private let sessions: SessionTable
  private let tokens: Tokens
  private let records: Records

  init(
    clock: any Clock, log: Logger, configuration: ConfigurationInForce, sessions: SessionTable,
    tokens: Tokens, records: Records
  ) {
    self.clock = clock
    self.log = log
    self.configuration = configuration
    self.sessions = sessions
    self.tokens = tokens
    self.records = records
    timer = clock.makeTimer { [unowned self] in forgetUnused() }
  }

  /// The time of one round through all sessions.
  private var roundTime: Duration {
    configuration.current.shortestForgetAfter * (1 / Double(Self.looks))
  }

  /// Plans the next look, unless one is planned.
  func arm() {
    guard !isArmed, sessions.count > 0 else { return }
    isArmed = true
    let share = Double(Self.batch) / Double(max(sessions.count, Self.batch))
    timer?.arm(at: clock.now + roundTime * share)
  }

  /// Plans the next look anew: a reload may have changed the time of a round.
  func armAnew() {
    isArmed = false
    arm()
  }

  /// Looks at the next few sessions, and forgets unused ones.
  private func forgetUnused() {
    let now = clock.now
    var looked: [Session] = []
    sessions.order.walk(after: last) { session in
      looked.append(session)
      return looked.count < Self.batch
    }
    last = looked.count < Self.batch ? nil : looked.last?.key
    for session in looked { look(at: session, now) }
    armAnew()
  }

  private func look(at session: Session, _ now: Instant) {
    let unused = now - session.machine.lastAsked
    guard session.registration.wasLookedAt, !session.machine.isBusy,
      !sessions.isSigningIn(session.key),
      !sessions.hasBusyDerived(session),
      unused >= session.profile.settings.forgetAfter + roundTime
    else {
      session.registration.wasLookedAt = true
      // From now on the next use is recorded.
      session.usedCredentials = 0
      return
    }
    forget(session)
  }

  /// The end of the session is like a logout: tokens, logins and credentials are gone, and a
  /// refresh token is revoked. The IdentityId stays known.
  private func forget(_ session: Session) {
    let key = session.key
    guard records.keepMark(of: session) else { return }
    log.info(
      "session forgotten: nobody used it",
      metadata: ["profile": "\(key.profile)", "uid": "\(key.uid)"])
    tokens.revokeAll(of: session)
    sessions.end(session)
    records.storeMark(of: key)
  }
}
