import CredCore
import Logging

/// Keeps sessions of profiles with `keep_warm`: renews them without a request, and makes the
/// sessions of named users.
///
/// An unattended renewal has no request. So before each one the service looks up the user's name
/// and groups and decides access, as for a `get`. A renewal does not count as a use: `forget_after`
/// goes on.
final class KeptSessions {
  /// The most decisions under way at once: each may ask the user database, and after a restart
  /// thousands are due.
  static let decisionsAtOnce = 64
  /// The pause before a session for which there was no room is looked at again.
  static let roomPause: Duration = .milliseconds(100)

  /// A user that a profile names.
  struct Named: Hashable {
    let profile: String
    let user: String
  }

  private var deciding: Set<SessionKey> = []
  /// Named users who got a session since the configuration is in force. A session is made only
  /// once: if it is forgotten later, it is not made again.
  private var made: Set<Named> = []
  /// Named users of whom the log has said that they do not exist.
  private var reported: Set<Named> = []
  private var timer: (any Timer)?
  private let host: Host
  private let configuration: ConfigurationInForce
  private let sessions: SessionTable
  private let admittance: Admittance

  init(
    host: Host, configuration: ConfigurationInForce, sessions: SessionTable,
    admittance: Admittance
  ) {
    self.host = host
    self.configuration = configuration
    self.sessions = sessions
    self.admittance = admittance
    timer = host.clock.makeTimer { [unowned self] in makeNamed() }
  }

  // MARK: Renewals

  /// Decides whether a session's user may use the profile now, and renews it then.
  func renew(_ session: Session, _ now: Instant) {
    let key = session.key
    guard deciding.count < Self.decisionsAtOnce else {
      session.unattended.from = now + Self.roomPause
      return sessions.reschedule(session)
    }
    let answer = user(key.uid, of: session.profile, now) { [unowned self] in
      deciding.remove(key)
      sessions[key]?.unattended.isBeingDecided = false
      if let session = sessions[key] { sessions.reschedule(session) }
    }
    guard let answer else {
      deciding.insert(key)
      session.unattended.isBeingDecided = true
      return sessions.reschedule(session)
    }
    session.unattended.from = now + Session.Unattended.pause
    guard case .known(let user) = answer, claimForRenewal(session, for: user, now) else {
      if !session.hasEnded { sessions.reschedule(session) }
      return
    }
    sessions.handle(.renewalDue, session, now)
  }

  private func claimForRenewal(_ session: Session, for user: Caller, _ now: Instant) -> Bool {
    guard session.profile.access.mayAdmit(user),
      user.userName != nil || !session.profile.needsUserName
    else { return false }
    let owner = SessionOwner(name: user.userName)
    return admittance.claim(session, for: owner, now) && !session.hasEnded
  }

  private enum FoundUser {
    case known(Caller)
    case unknown
  }

  /// The uid's user now, by the user database alone; nil if `then` is called later.
  private func user(
    _ uid: UInt32, of profile: Profile, _ now: Instant, then: @escaping () -> Void
  ) -> FoundUser? {
    let query = UserQuery(.uid(uid), withGroups: profile.access.needsGroups)
    var user = Caller(uid: uid, isUnmapped: uid == host.process.overflowUID)
    switch admittance.directory.answer(to: query, now: now, then: then) {
    case nil: return nil
    case .unavailable, .unreadableName: return .unknown
    case .nobody: break
    case .user(let entry):
      user.userName = entry.name
      user.groups = entry.groups.filter { !entry.withdrawn.contains($0) }
    }
    return .known(user)
  }

  // MARK: Named users

  /// Gives named users their sessions after a start or a reload.
  func makeNamedAnew() {
    let named = Set(namedUsers)
    made = made.intersection(named)
    reported = reported.intersection(named)
    makeNamed()
  }

  private var namedUsers: [Named] {
    configuration.profileNames.flatMap { name in
      (configuration[name]?.settings.keepWarm.users ?? []).map {
        Named(profile: name, user: $0)
      }
    }
  }

  /// Makes the missing sessions, and tries again later for unknown users.
  private func makeNamed() {
    let now = host.clock.now
    var isComplete = true
    for named in namedUsers where !made.contains(named) {
      guard let profile = configuration[named.profile],
        let user = find(named, for: profile, now)
      else {
        isComplete = false
        continue
      }
      guard profile.access.mayAdmit(user) else {
        report(named, "the profile does not admit this user")
        isComplete = false
        continue
      }
      if case .session(let session) = admittance.session(of: profile, for: user, now) {
        made.insert(named)
        sessions.reschedule(session)
      } else {
        isComplete = false
      }
    }
    timer?.arm(at: isComplete ? nil : now + Session.Unattended.pause)
  }

  /// The named user; nil while it is looked up, or if the user database does not know it.
  private func find(
    _ named: Named, for profile: Profile, _ now: Instant
  ) -> Caller? {
    let again: () -> Void = { [unowned self] in makeNamed() }
    var uid = named.user.utf8.allSatisfy(\.isDigit) ? UInt32(named.user) : nil
    if uid == nil {
      switch admittance.directory.answer(
        to: UserQuery(.name(named.user), withGroups: false), now: now, then: again)
      {
      case .user(let entry): uid = entry.uid
      case .nobody: report(named, "the host knows no such user")
      case nil, .unavailable, .unreadableName: break
      }
    }
    guard let uid, case .known(let user)? = self.user(uid, of: profile, now, then: again) else {
      return nil
    }
    return user
  }

  private func report(_ named: Named, _ reason: String) {
    guard reported.insert(named).inserted else { return }
    host.log.warning(
      "no session is kept: \(reason)",
      metadata: ["profile": "\(named.profile)", "user": "\(named.user)"])
  }
}
