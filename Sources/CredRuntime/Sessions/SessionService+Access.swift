internal import CredCore
internal import Logging

extension SessionService {
  /// What a profile's name means for a caller.
  enum Resolution {
    case session(Session)
    case refused(ProtocolError)
    /// The caller's name is being looked up; the request is answered when it is there.
    case pending
  }

  /// Decides from the kernel's word for who calls, never from what the request says.
  func resolve(_ name: String, _ connection: Connection, _ now: Instant) -> Resolution {
    let profile = settings.profiles[name]
    let needsName = profile.map { $0.needsUserName || $0.access.needsUserName } ?? false
    guard let caller = caller(connection, needsName: needsName, now) else { return .pending }
    guard let profile else { return .refused(unknown(name, caller, connection)) }
    guard profile.access.allows(withUnit(caller, profile, connection)) else {
      noteRefusal(of: caller, to: name, connection, now)
      return .refused(Self.notForYou(name))
    }
    if profile.needsUserName, caller.userName == nil {
      return .refused(nameless(connection.peer.uid, profile, now))
    }
    guard let session = session(of: profile, for: caller, now: now) else {
      return .refused(
        ProtocolError(.tooManyRequests, "the daemon holds as many sessions as max_sessions allows"))
    }
    return .session(session)
  }

  /// Nil while the name is being looked up.
  private func caller(
    _ connection: Connection, needsName: Bool, _ now: Instant
  ) -> Caller? {
    let uid = connection.peer.uid
    let groups = connection.groups()
    guard needsName else { return Caller(uid: uid, groups: groups) }
    let token = connection.token
    switch directory.answer(for: uid, now: now, then: { [unowned self] in self.proceed(token) }) {
    case nil: return nil
    case .name(let name): return Caller(uid: uid, groups: groups, userName: name)
    case .nobody, .unavailable: return Caller(uid: uid, groups: groups)
    }
  }

  /// The caller's name is known now, or known not to be.
  private func proceed(_ token: UInt64) {
    guard let connection = server.connection(token), let parked = connection.parked,
      parked.awaitsName
    else { return }
    connection.parked = nil
    answer(parked.request, connection, loop.now)
    server.finishTurn()
  }

  private func withUnit(_ caller: Caller, _ profile: Profile, _ connection: Connection) -> Caller {
    guard profile.access.needsUnit else { return caller }
    var caller = caller
    caller.unit = connection.presentUnit()
    return caller
  }

  // MARK: Refusals

  /// A caller who may not use every profile does not learn which ones exist.
  private func unknown(
    _ name: String, _ caller: Caller, _ connection: Connection
  ) -> ProtocolError {
    let seesAll = settings.profiles.values.allSatisfy {
      $0.access.isOpen || $0.access.allows(withUnit(caller, $0, connection))
    }
    guard seesAll else { return Self.notForYou(name) }
    let known = settings.profiles.keys.sorted()
    let message =
      known.isEmpty
      ? "no profile is configured; add [profile \(name)] to credd.conf"
      : "there is no profile '\(name)'"
        + NearestName.suggestion(
          name, in: known, otherwise: "; known are \(known.prefix(10).joined(separator: ", "))")
    return ProtocolError(.unknownProfile, message)
  }

  private static func notForYou(_ name: String) -> ProtocolError {
    ProtocolError(.accessDenied, "profile '\(name)' is not available to you")
  }

  private func nameless(_ uid: UInt32, _ profile: Profile, _ now: Instant) -> ProtocolError {
    let name = profile.settings.name
    guard directory.answer(for: uid, now: now, then: {}) == .nobody else {
      return ProtocolError(
        .timeout, "the host's user database did not say who uid \(uid) is",
        retryAfter: UserDirectory.failureKeptFor)
    }
    return ProtocolError(
      .accessDenied, "uid \(uid) has no user name on this host, and profile '\(name)' needs one")
  }
}
