import CredCore

/// A sign-in at a user pool that has begun: it asks the pool, or waits for its user.
final class OpenSignIn {
  /// The later one has the higher number.
  let number: UInt64
  let key: SessionKey
  /// The person who began it.
  let owner: SessionOwner
  /// The profile when it began. A reload that changes how the profile signs in ends it.
  let profile: Profile
  /// For ``PasswordLimiter``.
  let attempt: PasswordLimiter.Attempt
  let customRoleARN: String?
  let begun: Instant
  var conversation: PoolConversation
  /// Names its question; nil until it asks for the first time.
  var handle: ChallengeHandle?
  /// The step that is under way; nil while its user has to act.
  var call: CallID?
  /// The client that waits for its next question or its end.
  var client: UInt64?

  init(
    number: UInt64, _ session: Session, _ attempt: PasswordLimiter.Attempt,
    _ conversation: PoolConversation, customRoleARN: String?, now: Instant
  ) {
    self.number = number
    key = session.key
    owner = session.owner
    profile = session.profile
    self.attempt = attempt
    self.conversation = conversation
    self.customRoleARN = customRoleARN
    begun = now
  }

  /// When its question ends; nil while it has none.
  var deadline: Instant? {
    conversation.deadline.map { min($0, begun + Limits.Challenge.longestSignIn) }
  }
}

/// The sign-ins at user pools that are open: one for each session at most. They are not stored.
struct SignInBook {
  private var bySession: [SessionKey: OpenSignIn] = [:]
  private var byHandle: [ChallengeHandle: OpenSignIn] = [:]
  private var countOfUser: [UInt32: Int] = [:]
  private var lastNumber: UInt64 = 0

  var isEmpty: Bool { bySession.isEmpty }
  /// In the order of their beginning.
  var all: [OpenSignIn] { bySession.values.sorted { $0.number < $1.number } }
  /// When the first question ends.
  var nextDeadline: Instant? { bySession.values.compactMap(\.deadline).min() }

  subscript(_ key: SessionKey) -> OpenSignIn? { bySession[key] }
  subscript(_ handle: ChallengeHandle) -> OpenSignIn? { byHandle[handle] }

  mutating func nextNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  /// Which sign-in has to end before another one of this user begins: the oldest of the user, or of
  /// the user that has the most.
  func victim(of uid: UInt32) -> OpenSignIn? {
    if countOfUser[uid, default: 0] >= Limits.Challenge.openPerUser { return oldest(of: uid) }
    guard bySession.count >= Limits.Challenge.open else { return nil }
    // Of several with as many, the one with the lowest uid: the same in every process.
    let largest = countOfUser.max { ($0.value, $1.key) < ($1.value, $0.key) }
    return largest.flatMap { oldest(of: $0.key) }
  }

  private func oldest(of uid: UInt32) -> OpenSignIn? {
    bySession.values.filter { $0.key.uid == uid }.min { $0.number < $1.number }
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

  /// A former handle names nothing any more.
  mutating func setHandle(_ handle: ChallengeHandle?, of signIn: OpenSignIn) {
    if let former = signIn.handle { byHandle[former] = nil }
    signIn.handle = handle
    if let handle { byHandle[handle] = signIn }
  }
}
