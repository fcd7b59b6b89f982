import CredCore
import Logging

/// What the service does for profiles with `keep_warm`: their sessions are renewed though nobody asks,
/// and those of named users are made.
///
/// An unattended renewal is no request. So the user's name, groups and access are decided before each,
/// as for a `get`, and what is renewed is used by nobody: `forget_after` goes on.
final class KeptSessions {
  /// Decisions under way at once: each may ask the user database. After a restart thousands are due.
  static let decisionsAtOnce = 64
  /// When a session is looked at again for which there was no room.
  static let roomPause: Duration = .milliseconds(100)

  /// A user that a profile names.
  struct Named: Hashable {
    let profile: String
    let user: String
  }

  private var deciding: Set<SessionKey> = []
  /// Those whose session was made since the configuration is in force. It is made once: a session that
  /// is forgotten later stays so.
  private var made: Set<Named> = []
  /// Those of whom the log has said that they are not there.
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

  /// Who a uid is now, by the user database alone; nil if `then` is called later.
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

  /// After a start or a reload: named users get their sessions.
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

  /// Makes the sessions that are missing, and tries later where a user is unknown.
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

  /// Nil while the user is looked up, or where the user database does not know it.
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
