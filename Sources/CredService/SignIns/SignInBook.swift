import CredCore

/// The open sign-ins at user pools and providers: one for each session at most. They are not
/// stored.
struct SignInBook {
  private var bySession: [SessionKey: OpenSignIn] = [:]
  private var byHandle: [ChallengeHandle: OpenSignIn] = [:]
  private var countOfUser: [UInt32: Int] = [:]
  private var lastNumber: UInt64 = 0

  var count: Int { bySession.count }
  /// The sign-ins in the order in which they began.
  var all: [OpenSignIn] { bySession.values.sorted { $0.number < $1.number } }
  /// When one of the sign-ins must go on by itself.
  var nextWake: Instant {
    bySession.values.reduce(Instant.distantFuture) { min($0, $1.nextWake) }
  }

  subscript(_ key: SessionKey) -> OpenSignIn? { bySession[key] }
  subscript(_ handle: ChallengeHandle) -> OpenSignIn? { byHandle[handle] }

  /// The bytes of the logins about which a user is asked in other sessions.
  func loginBytes(of uid: UInt32, besides key: SessionKey) -> Int {
    bySession.values.reduce(0) { sum, signIn in
      signIn.key.uid == uid && signIn.key != key ? sum + signIn.conversation.loginBytes : sum
    }
  }

  mutating func nextNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  /// The sign-in that must end before another one of this user begins. It is the user's own oldest
  /// if this user has the most, else the oldest of the users that have the most.
  func victim(of uid: UInt32) -> OpenSignIn? {
    let own = countOfUser[uid, default: 0]
    if own >= Limits.Challenge.openPerUser { return oldest { $0 == uid } }
    guard bySession.count >= Limits.Challenge.open else { return nil }
    let most = countOfUser.values.max() ?? 0
    return own == most ? oldest { $0 == uid } : oldest { countOfUser[$0] == most }
  }

  private func oldest(where isOfUser: (UInt32) -> Bool) -> OpenSignIn? {
    bySession.values.filter { isOfUser($0.key.uid) }.min { $0.number < $1.number }
  }

  /// Whether another sign-in is trying the same second factor now.
  func isTried(_ factor: PasswordLimiter.Factor, besides signIn: OpenSignIn) -> Bool {
    bySession.values.contains { $0 !== signIn && $0.factor == factor }
  }

  mutating func insert(_ signIn: OpenSignIn) {
    bySession[signIn.key] = signIn
    countOfUser[signIn.key.uid, default: 0] += 1
  }

  mutating func remove(_ signIn: OpenSignIn) {
    guard bySession[signIn.key] === signIn else { return }
    bySession[signIn.key] = nil
    let left = countOfUser[signIn.key.uid, default: 1] - 1
    countOfUser[signIn.key.uid] = left > 0 ? left : nil
    setHandle(nil, of: signIn)
  }

  /// The former handle becomes invalid.
  mutating func setHandle(_ handle: ChallengeHandle?, of signIn: OpenSignIn) {
    if let former = signIn.handle { byHandle[former] = nil }
    signIn.handle = handle
    if let handle { byHandle[handle] = signIn }
  }
}
