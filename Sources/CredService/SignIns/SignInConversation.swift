import CredCore

/// The other side of a sign-in, and the state of the conversation with it.
enum SignInConversation {
  /// A user pool that asks back.
  case pool(PoolConversation)
  /// A provider, by a browser or by a code that is typed on another device.
  case provider(ProviderConversation)
  /// Nobody: the user is asked before logins of another person go to Cognito.
  case logins(LoginsConfirmation, LoginRequest)

  /// The means of signing in, for the audit and for metrics.
  var means: String {
    switch self {
    case .pool: "userPool"
    case .provider(let conversation): conversation.isByDevice ? "device" : "browser"
    case .logins: "logins"
    }
  }

  /// The question that waits for its user; nil if there is none.
  var challenge: SignInChallenge? {
    switch self {
    case .pool(let conversation): conversation.challenge
    case .provider(let conversation): conversation.challenge
    case .logins(let confirmation, _): confirmation.challenge
    }
  }

  /// The bytes of the logins that wait for their user's word.
  var loginBytes: Int {
    if case .logins(_, let login) = self { login.signIn.logins?.byteCount ?? 0 } else { 0 }
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
    case .logins(let confirmation, _): confirmation.deadline
    }
  }

  /// When the provider may be asked for the tokens of a device code; nil if there is no device
  /// code.
  var nextPoll: Instant? {
    if case .provider(let conversation) = self { conversation.nextPoll } else { nil }
  }

  /// Whether the user acts in a browser or on another device, and has nothing to answer here.
  var isElsewhere: Bool {
    if case .device = challenge?.step { true } else { false }
  }
}
