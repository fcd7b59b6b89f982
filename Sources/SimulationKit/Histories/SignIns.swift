/// What is known of the users' sign-ins, where it is certain.
struct SignIns {
  private struct Key: Hashable {
    let user: Int
    let profile: String
  }

  private struct State {
    /// Somebody signed in or out by hand.
    var isTouched = false
    /// The last line that did.
    var lastLine = 0
    /// Who is signed in with a password.
    var signedIn: Int?
  }

  private var states: [Key: State] = [:]

  /// A line goes to the service.
  mutating func begins(_ line: HistoryClient.Line, _ user: Int) {
    guard let profile = line.profile, line.request.touches else { return }
    states[Key(user: user, profile: profile), default: State()] = State(
      isTouched: true, lastLine: line.number)
  }

  mutating func ended(
    _ line: HistoryClient.Line, _ user: Int, isGood: Bool, _ people: HistoryPeople
  ) {
    guard case .password(_, .own) = line.request, isGood, let profile = line.profile else { return }
    let key = Key(user: user, profile: profile)
    // A sign-in while the uid changes hands may end with the former person's session.
    guard states[key]?.lastLine == line.number,
      people.possible(user, from: line.start).count == 1
    else { return }
    states[key]?.signedIn = people.holder(of: user)?.number
  }

  /// Another person has the uid.
  mutating func forget(_ user: Int) {
    for key in states.keys where key.user == user { states[key] = nil }
  }

  mutating func forget(person: Int) {
    for key in states.keys where states[key]?.signedIn == person { states[key]?.signedIn = nil }
  }

  mutating func forgetSignedIn() {
    for key in states.keys { states[key]?.signedIn = nil }
  }

  /// Nothing is known of any session any more.
  mutating func forgetAll() {
    for user in 0..<History.users {
      for profile in 0..<3 {
        states[Key(user: user, profile: "p\(profile)")] = State(isTouched: true)
      }
    }
  }

  /// Whether a `get` must be answered with credentials when nothing is wrong any more.
  func mustWork(_ user: Int, _ profile: String, isUnattended: Bool) -> Bool {
    guard let state = states[Key(user: user, profile: profile)] else { return isUnattended }
    return state.signedIn != nil || isUnattended && !state.isTouched
  }
}

extension HistoryRequest {
  /// Whether it changes who is signed in.
  fileprivate var touches: Bool {
    switch self {
    case .password, .developerToken, .logins, .logout: true
    case .clear(_, let identity): identity
    default: false
    }
  }
}
