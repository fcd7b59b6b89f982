import CredCore

/// Whom a sign-in talks to, and how far it is.
enum SignInConversation {
  /// A user pool that asks back.
  case pool(PoolConversation)
  /// A browser, or a code that is typed elsewhere.
  case provider(ProviderConversation)

  /// By which means its user signs in, for the audit and for metrics.
  var means: String {
    switch self {
    case .pool: "userPool"
    case .provider(let conversation): conversation.isByDevice ? "device" : "browser"
    }
  }

  /// The question that waits for its user; nil if there is none.
  var challenge: SignInChallenge? {
    switch self {
    case .pool(let conversation): conversation.challenge
    case .provider(let conversation): conversation.challenge
    }
  }

  /// See ``PoolConversation/unjudgedAnswers``.
  var unjudgedAnswers: Int {
    if case .pool(let conversation) = self { conversation.unjudgedAnswers } else { 0 }
  }

  /// See ``PoolConversation/withoutConfirmation()``.
  mutating func withoutConfirmation() -> PoolConversation.Action? {
    guard case .pool(var conversation) = self else { return nil }
    let action = conversation.withoutConfirmation()
    self = .pool(conversation)
    return action
  }

  var deadline: Instant? {
    switch self {
    case .pool(let conversation): conversation.deadline
    case .provider(let conversation): conversation.deadline
    }
  }

  /// When a provider may be asked for the tokens of a device code; nil where there is none to ask for.
  var nextPoll: Instant? {
    if case .provider(let conversation) = self { conversation.nextPoll } else { nil }
  }

  /// Whether the user has nothing to answer, and acts elsewhere.
  var isElsewhere: Bool {
    if case .device = challenge?.step { true } else { false }
  }
}

/// A sign-in at a user pool or a provider that has begun: it asks there, or waits for its user.
final class OpenSignIn {
  /// Kept beside the conversation, which is large: each step of one sign-in looks at the times of all.
  private struct Times {
    let deadline: Instant?
    let nextPoll: Instant?

    init(of conversation: SignInConversation) {
      deadline = conversation.deadline
      nextPoll = conversation.nextPoll
    }
  }

  /// The later one has the higher number.
  let number: UInt64
  let key: SessionKey
  /// The person who began it, and by which process.
  let owner: SessionOwner
  let caller: Caller
  /// The client that asked or answered last.
  var asker = SignInAsker()
  /// The profile when it began. A reload that changes how the profile signs in ends it.
  let profile: Profile
  /// By whose backend it signs in: the profile's own, or the one that is linked.
  var place: Profile { profile.signInProfile }
  var user: UnixUser { UnixUser(uid: key.uid, name: owner.name) }
  /// For ``PasswordLimiter``. The name is empty where a provider will say who signs in.
  let attempt: PasswordLimiter.Attempt
  let customRoleARN: String?
  let begun: Instant
  var conversation: SignInConversation { didSet { times = Times(of: conversation) } }
  private var times: Times
  /// Names its question; nil until it asks for the first time.
  var handle: ChallengeHandle?
  /// The step that is under way; nil while its user has to act.
  var call: CallID?
  /// The client that waits for its next question or its end.
  var client: UInt64?
  /// When that client gets the same question again, if nothing happens before.
  var waitEnds: Instant?
  /// Clients that wait for the end of the step that another one's answer began, each until a time.
  var onlookers: [SignInOnlooker] = []
  /// When that client is answered at the latest.
  var answerDue = Instant.distantFuture
  /// A request that is made once more after a pause.
  var later: (request: PoolRequest, at: Instant)?
  /// Until when the provider is asked for the tokens of a device code, though nobody waits.
  var pollsUntil: Instant?
  /// Whether the pool may send a message for the step that is under way.
  var maySendMessage = false
  /// Whether the message of its next question has been counted.
  var isMessageCounted = false
  /// Whether a message of its questions of the pool's own has been counted.
  var isCustomCounted = false
  /// How many questions of the pool's own it had.
  var customQuestions = 0
  /// Those that count as one message.
  private static let fewCustomQuestions = 3
  /// The second factor that is tried by the step that is under way.
  var factor: PasswordLimiter.Factor?

  init(
    number: UInt64, _ session: Session, _ attempt: PasswordLimiter.Attempt,
    _ conversation: SignInConversation, customRoleARN: String?, by caller: Caller, now: Instant
  ) {
    self.caller = caller
    self.number = number
    key = session.key
    owner = session.owner
    profile = session.profile
    self.attempt = attempt
    self.conversation = conversation
    times = Times(of: conversation)
    self.customRoleARN = customRoleARN
    begun = now
  }

  /// When its question ends; nil while it has none.
  var deadline: Instant? {
    times.deadline.map { min($0, begun + Limits.Challenge.longestSignIn) }
  }

  /// Whether each further question of the pool's own counts as a message.
  var hasManyCustomQuestions: Bool { customQuestions > Self.fewCustomQuestions }

  /// The second factor that an answer to its question tries; nil if it tries none, or if no password
  /// was proved before.
  var factorInQuestion: PasswordLimiter.Factor? {
    guard case .pool(let pool) = conversation, let user = pool.provedUser,
      let issuer = place.plan.backend.issuer
    else { return nil }
    switch conversation.challenge?.step {
    case .code, .custom: return PasswordLimiter.Factor(issuer: issuer, username: user)
    default: return nil
    }
  }

  /// When the provider is asked next; nil while nobody waits, or it is being asked.
  var nextPoll: Instant? {
    guard call == nil, let next = times.nextPoll, let pollsUntil, next <= pollsUntil else {
      return nil
    }
    return next
  }

  /// When something has to be done about it; `.distantFuture` if nothing has.
  var nextWake: Instant {
    var next = client == nil ? .distantFuture : answerDue
    if let deadline { next = min(next, deadline) }
    if let waitEnds { next = min(next, waitEnds) }
    if let nextPoll { next = min(next, nextPoll) }
    if let later { next = min(next, later.at) }
    for onlooker in onlookers { next = min(next, onlooker.until) }
    return next
  }
}

/// The sign-ins at user pools and providers that are open: one for each session at most. They are not stored.
struct SignInBook {
  private var bySession: [SessionKey: OpenSignIn] = [:]
  private var byHandle: [ChallengeHandle: OpenSignIn] = [:]
  private var countOfUser: [UInt32: Int] = [:]
  private var lastNumber: UInt64 = 0

  /// In the order of their beginning.
  var all: [OpenSignIn] { bySession.values.sorted { $0.number < $1.number } }
  /// When something has to be done about one of them.
  var nextWake: Instant {
    bySession.values.reduce(Instant.distantFuture) { min($0, $1.nextWake) }
  }

  subscript(_ key: SessionKey) -> OpenSignIn? { bySession[key] }
  subscript(_ handle: ChallengeHandle) -> OpenSignIn? { byHandle[handle] }

  mutating func nextNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  /// Which sign-in has to end before another one of this user begins: the oldest of the user, or of
  /// the users that have the most. A user who is one of these makes room for the own one.
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

  /// Whether another sign-in tries the same second factor at this moment.
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

  /// A former handle names nothing any more.
  mutating func setHandle(_ handle: ChallengeHandle?, of signIn: OpenSignIn) {
    if let former = signIn.handle { byHandle[former] = nil }
    signIn.handle = handle
    if let handle { byHandle[handle] = signIn }
  }
}
