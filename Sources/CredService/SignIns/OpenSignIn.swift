import CredCore

/// A sign-in at a user pool or a provider that has begun: a request is under way, or it waits for
/// its user.
final class OpenSignIn {
  /// The facts from the beginning of the sign-in.
  struct Origin {
    /// The later sign-in has the higher number.
    let number: UInt64
    let key: SessionKey
    /// The person who began the sign-in.
    let owner: SessionOwner
    let caller: Caller
    /// If a reload changes how the profile signs in, the sign-in ends.
    let profile: Profile
    /// The name is empty if the provider will say who signs in.
    let attempt: PasswordLimiter.Attempt
    let customRoleARN: String?
    let begun: Instant
  }

  /// The activity between two questions.
  enum Step {
    /// No activity: the user must act.
    case none
    /// This call is under way.
    case call(CallID)
    /// A request is made once more after a pause.
    case later(PoolRequest, at: Instant)
  }

  /// The client that waits for the next question or the end.
  struct Waiter {
    let client: UInt64
    /// When the client is answered at the latest.
    let answerDue: Instant
    /// When the client gets the same question again, if nothing happens before.
    var questionDue: Instant?
  }

  /// The messages that a pool sends, as far as they are counted.
  struct Messages {
    /// Whether the pool may send a message for the step under way.
    var mayBeSent = false
    /// Whether the message of the next question has been counted.
    var isCounted = false
    /// Whether a message for the pool's custom questions has been counted.
    var isCustomCounted = false
    /// How many custom questions of the pool the sign-in had.
    var customQuestions = 0

    /// Whether each further custom question counts as a message.
    var hasManyCustomQuestions: Bool { customQuestions > Self.fewCustomQuestions }

    /// The number of custom questions that count as one message.
    private static let fewCustomQuestions = 3
  }

  /// Kept apart from the conversation, which is large, because each step of a sign-in looks at the
  /// times of all.
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
  /// The handle of its question; nil until the sign-in asks for the first time.
  var handle: ChallengeHandle?
  var step = Step.none
  /// The second factor that the step under way tries.
  var factor: PasswordLimiter.Factor?
  var waiter: Waiter?
  /// Clients that wait for the end of a step which another client's answer began, each until a
  /// time.
  var onlookers: [SignInOnlooker] = []
  /// Until when credd asks the provider for the tokens of a device code although no client waits.
  var pollsUntil: Instant?
  var messages = Messages()
  /// The region of the user pool in which it began, and ends.
  var poolPlace = PoolPlace.primary

  init(_ origin: Origin, _ conversation: SignInConversation) {
    self.origin = origin
    self.conversation = conversation
    times = Times(of: conversation)
  }

  var number: UInt64 { origin.number }
  var key: SessionKey { origin.key }
  var profile: Profile { origin.profile }
  var attempt: PasswordLimiter.Attempt { origin.attempt }
  /// The profile through whose backend it signs in: the profile itself, or the linked one.
  var signInProfile: Profile { profile.signInProfile }
  var user: UnixUser { UnixUser(uid: key.uid, name: origin.owner.name) }

  /// The call that is under way.
  var call: CallID? { if case .call(let call) = step { call } else { nil } }

  /// Whether no step is under way or planned.
  var isIdle: Bool { if case .none = step { true } else { false } }

  /// When the question expires; nil while there is none.
  var deadline: Instant? {
    times.deadline.map { min($0, origin.begun + Limits.Challenge.longestSignIn) }
  }

  /// The second factor that an answer to the question tries; nil if it tries none, or if the user
  /// has not proved a password before.
  var factorInQuestion: PasswordLimiter.Factor? {
    guard case .pool(let pool) = conversation, let user = pool.provedUser,
      let issuer = signInProfile.plan.backend.issuer
    else { return nil }
    switch conversation.challenge?.step {
    case .code, .custom: return PasswordLimiter.Factor(issuer: issuer, username: user)
    default: return nil
    }
  }

  /// When the provider is asked next; nil if no client waits, or while the provider is being asked.
  var nextPoll: Instant? {
    guard call == nil, let next = times.nextPoll, let pollsUntil, next <= pollsUntil else {
      return nil
    }
    return next
  }

  /// When the sign-in must go on by itself; `.distantFuture` if never.
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
