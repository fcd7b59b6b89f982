import CredCore

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
    var signedInSince = Instant.distantFuture
  }

  private var states: [Key: State] = [:]

  /// A line goes to the service.
  ///
  /// - Parameter isAtPool: whether the profile's users sign in at a user pool. There the session stays
  ///   as it is until the pool has accepted somebody.
  mutating func begins(_ line: HistoryClient.Line, _ user: Int, isAtPool: Bool) {
    guard let profile = line.profile, line.request.touches else { return }
    let key = Key(user: user, profile: profile)
    var state = State(isTouched: true, lastLine: line.number)
    if isAtPool, line.request.isOfConversation, let former = states[key] {
      (state.signedIn, state.signedInSince) = (former.signedIn, former.signedInSince)
    }
    states[key] = state
  }

  mutating func ended(
    _ line: HistoryClient.Line, _ user: Int, isGood: Bool, _ people: HistoryPeople, _ now: Instant
  ) {
    guard line.signsInOwner, isGood, let profile = line.profile else { return }
    let key = Key(user: user, profile: profile)
    // A sign-in while the uid changes hands may end with the former person's session.
    guard states[key]?.lastLine == line.number,
      people.possible(user, from: line.start).count == 1
    else { return }
    states[key]?.signedIn = people.holder(of: user)?.number
    states[key]?.signedInSince = now
  }

  /// Another person has the uid.
  mutating func forget(_ user: Int) {
    for key in states.keys where key.user == user { states[key] = nil }
  }

  mutating func forget(person: Int) {
    for key in states.keys where states[key]?.signedIn == person { states[key]?.signedIn = nil }
  }

  /// - Parameter isKept: whether sessions of a profile live on.
  mutating func forgetSignedIn(unless isKept: (String) -> Bool = { _ in false }) {
    for key in states.keys where !isKept(key.profile) { states[key]?.signedIn = nil }
  }

  /// Nothing is known of any session any more.
  mutating func forgetAll() {
    for user in 0..<History.users {
      for profile in 0..<3 {
        states[Key(user: user, profile: "p\(profile)")] = State(isTouched: true)
      }
    }
  }

  /// Whether a user has certainly been signed in with a password since a time.
  func isSignedIn(_ user: Int, _ profile: String, since time: Instant) -> Bool {
    guard let state = states[Key(user: user, profile: profile)] else { return false }
    return state.signedIn != nil && state.signedInSince < time
  }

  /// Whether a `get` must be answered with credentials when nothing is wrong any more.
  func mustWork(_ user: Int, _ profile: String, isUnattended: Bool) -> Bool {
    guard let state = states[Key(user: user, profile: profile)] else { return isUnattended }
    return state.signedIn != nil || isUnattended && !state.isTouched
  }
}

extension HistoryClient.Line {
  /// Whether it ends, if it succeeds, with a session of the client's own person.
  fileprivate var signsInOwner: Bool {
    switch request {
    case .password(_, .own), .respond(.own, .answers, _): true
    case .respond(.own, .wait, _): handle?.device != nil
    default: false
    }
  }
}

extension HistoryRequest {
  fileprivate var isOfConversation: Bool {
    switch self {
    case .password, .respond: true
    default: false
    }
  }

  /// Whether it changes who is signed in.
  fileprivate var touches: Bool {
    switch self {
    case .password, .developerToken, .logins, .ownLogin, .passwordWithLogin, .logout, .respond:
      true
    case .clear(_, let identity): identity
    default: false
    }
  }
}
