import CredCore

/// A sign-in at a user pool or a provider that has begun: it asks there, or waits for its user.
final class OpenSignIn {
  /// What it was when it began.
  struct Origin {
    /// The later sign-in has the higher number.
    let number: UInt64
    let key: SessionKey
    /// The person who began it, and by which process.
    let owner: SessionOwner
    let caller: Caller
    /// A reload that changes how the profile signs in ends it.
    let profile: Profile
    /// The name is empty where a provider will say who signs in.
    let attempt: PasswordLimiter.Attempt
    let customRoleARN: String?
    let begun: Instant
  }

  /// What happens between one question and the next.
  enum Step {
    /// Nothing: its user has to act.
    case none
    /// This call is under way.
    case call(CallID)
    /// A request is made once more after a pause.
    case later(PoolRequest, at: Instant)
  }

  /// The client that waits for the next question or the end.
  struct Waiter {
    let client: UInt64
    /// When it is answered at the latest.
    let answerDue: Instant
    /// When it gets the same question again, if nothing happens before.
    var questionDue: Instant?
  }

  /// The messages that a pool sends, as far as they are counted.
  struct Messages {
    /// Whether the pool may send one for the step that is under way.
    var mayBeSent = false
    /// Whether that of the next question has been counted.
    var isCounted = false
    /// Whether one of the questions of the pool's own has been counted.
    var isCustomCounted = false
    /// How many questions of the pool's own it had.
    var customQuestions = 0

    /// Whether each further question of the pool's own counts as a message.
    var hasManyCustomQuestions: Bool { customQuestions > Self.fewCustomQuestions }

    /// Those that count as one message.
    private static let fewCustomQuestions = 3
  }

  /// Kept beside the conversation, which is large: each step of one sign-in looks at the times of all.
  private struct Times {
    let deadline: Instant?
    let nextPoll: Instant?

    init(of conversation: SignInConversation) {
      deadline = conversation.deadline
      nextPoll = conversation.nextPoll
    }
  }

  let origin: Origin
  var conversation: SignInConversation { didSet { times = Times(of: conversation) } }
  private var times: Times
  /// The client that asked or answered last.
  var asker = SignInAsker()
  /// Names its question; nil until it asks for the first time.
  var handle: ChallengeHandle?
  var step = Step.none
  /// The second factor that is tried by the step that is under way.
  var factor: PasswordLimiter.Factor?
  var waiter: Waiter?
  /// Clients that wait for the end of the step that another one's answer began, each until a time.
  var onlookers: [SignInOnlooker] = []
  /// Until when the provider is asked for the tokens of a device code, though nobody waits.
  var pollsUntil: Instant?
  var messages = Messages()

  init(_ origin: Origin, _ conversation: SignInConversation) {
    self.origin = origin
    self.conversation = conversation
    times = Times(of: conversation)
  }

  var number: UInt64 { origin.number }
  var key: SessionKey { origin.key }
  var profile: Profile { origin.profile }
  var attempt: PasswordLimiter.Attempt { origin.attempt }
  /// By whose backend it signs in: the profile's own, or the one that is linked.
  var place: Profile { profile.signInProfile }
  var user: UnixUser { UnixUser(uid: key.uid, name: origin.owner.name) }

  /// The call that is under way.
  var call: CallID? { if case .call(let call) = step { call } else { nil } }

  /// Whether nothing is under way, nor planned.
  var isIdle: Bool { if case .none = step { true } else { false } }

  /// When its question ends; nil while it has none.
  var deadline: Instant? {
    times.deadline.map { min($0, origin.begun + Limits.Challenge.longestSignIn) }
  }

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
    var next = waiter?.answerDue ?? .distantFuture
    if let deadline { next = min(next, deadline) }
    if let question = waiter?.questionDue { next = min(next, question) }
    if let nextPoll { next = min(next, nextPoll) }
    if case .later(_, let at) = step { next = min(next, at) }
    for onlooker in onlookers { next = min(next, onlooker.until) }
    return next
  }
}
