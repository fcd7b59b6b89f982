import CredCore

/// Actions of programs and people.
extension SimulatedPeople {
  /// Starts the actions of all sessions.
  func begin(_ sessions: Range<Int>) {
    for index in sessions {
      world.after(world.random.seconds(around: 60)) { [self] in use(index) }
      world.after(world.random.seconds(around: 3000)) { [self] in act(index) }
    }
  }

  // MARK: Programs

  private func use(_ index: Int) {
    if world.isCalm { return }
    if !absent.contains(oracle.sessions[index].user) { ask(index) }
    var gap = oracle.sessions[index].gap
    // Some requests come in bursts; at times there are none for hours.
    switch world.random.index(50) {
    case 0: gap = 20_000
    case 1..<8: gap = 0.3
    default: break
    }
    world.after(world.random.seconds(around: gap)) { [self] in use(index) }
  }

  private func ask(_ index: Int) {
    oracle.requestMade(index)
    let isPlain = world.random.happens(0.8)
    let isToken = world.random.happens(0.15)
    let wait = world.random.pick([0, 0.5, 5, 5, 5, 60])
    var members = wait == 5 ? "" : #","wait":\#(wait)"#
    var isDemanding = false
    if !isPlain {
      if let least = world.random.pick([nil, 30, 900, 3000]) {
        members += #","min_ttl":\#(least)"#
        isDemanding = true
      }
      if world.random.happens(0.3), !isToken {
        members += #","refresh":true"#
        isDemanding = true
      }
    }
    let request = send(
      isToken ? "token" : "get", members, isToken ? .token : .get(isPlain: !isDemanding), index,
      patience: wait)
    if world.random.happens(0.05) {
      world.after(world.random.seconds(around: 1)) { [self] in leave(request) }
    }
  }

  // MARK: People

  private func act(_ index: Int) {
    if world.isCalm { return }
    if !absent.contains(oracle.sessions[index].user) {
      oracle.requestMade(index)
      switch world.random.index(20) {
      case 0..<13: signIn(index, isGood: world.random.happens(0.8))
      case 13, 14: signOut(index)
      case 15: clear(.credentials, index)
      case 16: clear(.identity, index)
      case 17: handOver(oracle.sessions[index].user)
      default: send("release", "", .release, index, patience: 0)
      }
    }
    world.after(world.random.seconds(around: 7200)) { [self] in act(index) }
  }

  func signIn(_ index: Int, isGood: Bool, isFinal: Bool = false) {
    let (members, owners) = way(index, isGood: isGood)
    send("login", members, .login(owners), index, patience: 30, isFinal: isFinal)
  }

  /// A way to sign in to such a profile, as members of a line, and the owners after it.
  private func way(_ index: Int, isGood: Bool) -> (members: String, owners: [Owner]) {
    let session = oracle.sessions[index]
    let host = [session.owner(.host), session.owner(.logins)]
    switch session.profile.trust {
    case .host where world.random.happens(0.5): return ("", host)
    case .none where session.profile.hasTokenFile && world.random.happens(0.5): return ("", host)
    case .password:
      let owner = session.owner(world.random.happens(0.5) ? .alice : .bob)
      let name = String(decoding: owner.hex, as: UTF8.self)
      let password = isGood ? Self.password : "wrong"
      return (#","username":"\#(name)","password":"\#(password)""#, [owner])
    default: break
    }
    let linked = session.profile.trust == .host ? [session.owner(.host)] : []
    if session.profile.trust == .none || world.random.happens(0.3) {
      let owner = session.owner(.logins)
      let token = token(of: owner, isGood: isGood)
      return (#","logins":{"\#(SimulatedConfiguration.provider)":"\#(token)"}"#, [owner] + linked)
    }
    // A backend that knows the user has the next token when this one is used up.
    let owner = session.owner(.developer)
    let token = token(of: owner, isGood: isGood)
    // At times somebody claims another user's identity.
    let stranger = (index + SimulatedConfiguration.kinds.count) % oracle.sessions.count
    let claimed =
      !world.isCalm && world.random.happens(0.3)
      ? Owner(session: stranger, generation: 0, .host) : owner
    self.host.upstreams.claims[index] = claimed
    return (#","identity_id":"\#(claimed.identity)","token":"\#(token)""#, [owner] + linked)
  }

  /// If the token has no expiration, or the clock is wrong, only Cognito knows its end.
  private func token(of owner: Owner, isGood: Bool) -> String {
    let lifetime = isGood ? 3000.0 : -5
    let seal = Seal(
      owner, end: world.later(lifetime), lifetime: .seconds(1) * lifetime, isEndKnown: false)
    // In the basic flow only a token that names its identity is taken.
    let saysWhen = world.isCalm || world.random.happens(0.7)
    let expires = saysWhen ? world.trueTime + .seconds(1) * lifetime : nil
    return String(decoding: seal.token(expires: expires), as: UTF8.self)
  }

  private func signOut(_ index: Int) {
    let isGlobal = world.random.happens(0.3)
    send(
      "logout", isGlobal ? #","global":true"# : "",
      .logout(changes: oracle.signOutBegins(index)), index,
      // The call may wait a minute for its turn.
      patience: isGlobal ? 70 : 0)
  }

  private func clear(_ scope: ClearScope, _ index: Int) {
    send("clear", #","what":"\#(scope.rawValue)""#, .clear(scope), index, patience: 0)
  }

  /// The fault ``InjectedFault/dropOnFailure``.
  func intrude(_ index: Int) {
    world.inProcess(after: 0) { [self] in
      send("clear", #","what":"credentials""#, .intrusion, index, patience: 0)
    }
  }

  /// A uid is given to another person. Before that its processes end, and it is unused for longer
  /// than a name is kept.
  private func handOver(_ user: Int) {
    guard absent.insert(user).inserted else { return }
    world.trace("uid \(SimulatedUsers.uid(user)) is given to somebody else")
    leaveAll(of: user)
    host.users.handOver(user)
    world.after(66) { [self] in
      oracle.userChanged(user)
      absent.remove(user)
    }
  }

  // MARK: The calm

  /// Every session gets one request, and one for fresh credentials.
  func askFinally(_ index: Int) {
    send("get", #","wait":15"#, .get(isPlain: true), index, patience: 15, isFinal: true)
    world.after(100) { [self] in
      let members = #","wait":15,"refresh":true"#
      send("get", members, .get(isPlain: false), index, patience: 15, isFinal: true)
    }
  }

  func signInAndAskAgain(_ index: Int) {
    world.after(1) { [self] in signIn(index, isGood: true, isFinal: true) }
    world.after(20) { [self] in
      send("get", #","wait":15"#, .get(isPlain: true), index, patience: 15, isFinal: true)
    }
  }

  /// Root looks at all sessions.
  func askForStatus() {
    send(
      Array(#"{"op":"status","all":true}"#.utf8), .status, 0, Simulation.root, patience: 0,
      isFinal: true)
  }
}
