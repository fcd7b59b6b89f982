package import CredCore

/// A session's call with everything needed to make it.
package struct CallRequest: Sendable {
  /// By which it is prioritised, cancelled and withdrawn.
  package let id: CallID
  /// What is asked.
  package let call: UpstreamCall
  /// The profile when the call began; a reload does not change it.
  package let profile: Profile
  /// For whom it is made.
  package let user: UnixUser
  /// In whose share its user counts.
  package let account: Account
  /// A caller waits for it.
  package let isInPerson: Bool
  /// Whether the former call failed.
  package let isRetry: Bool
  /// Who asks; nil where the backend is not told.
  package let caller: CallerNote?

  package init(
    id: CallID, call: UpstreamCall, profile: Profile, user: UnixUser, account: Account? = nil,
    isInPerson: Bool, isRetry: Bool, caller: CallerNote? = nil
  ) {
    self.account = account ?? .user(user.uid)
    self.caller = caller
    self.id = id
    self.call = call
    self.profile = profile
    self.user = user
    self.isInPerson = isInPerson
    self.isRetry = isRetry
  }
}

/// An action of `account` with everything needed to make it.
package struct AccountCall: Sendable {
  /// By which its outcome finds the client that waits.
  package let id: CallID
  /// The profile when the call began.
  package let profile: Profile
  /// Who asks.
  package let user: UnixUser
  /// What is to be done.
  package let input: AccountInput
  /// For the triggers of a user pool.
  package var metadata = ClientMetadata()
  /// The same, for the first trigger of a sign-up.
  package var validationData = ClientMetadata()
  /// Nil for an action before a sign-in.
  package let signedIn: SignedIn?

  /// Whose account it is.
  package struct SignedIn: Sendable {
    let session: ProviderSession
    let accessToken: Secret
    /// Whether the session had the token before: it may have been revoked.
    let isHeld: Bool
  }
}

/// What `check` asks of servers.
package struct ProbeRequest: Sendable {
  /// By which it is cancelled.
  package let id: CallID
  /// Whose servers are asked.
  package let profiles: [Profile]
  /// No server is asked later.
  package let until: Instant
}

/// A step of a sign-in at a user pool, with everything needed to make it.
package struct ConversationCall: Sendable {
  /// By which it is cancelled and withdrawn.
  package let id: CallID
  /// The profile when the sign-in began.
  package let profile: Profile
  /// Who signs in.
  package let user: UnixUser
  /// What is to be done.
  package let step: ConversationStep
}

/// What a step of a sign-in at a user pool does.
package enum ConversationStep: Sendable {
  /// Asks the pool.
  case send(PoolRequest)
  /// On a thread.
  case compute(PoolProof)
}

/// A step of a sign-in by browser or device code, with everything needed to make it.
package struct ProviderCall: Sendable {
  /// By which it is cancelled and withdrawn.
  package let id: CallID
  /// The profile when the sign-in began.
  package let profile: Profile
  /// Who signs in.
  package let user: UnixUser
  /// What is asked.
  package let request: ProviderConversation.Request
}

/// What a step of a sign-in by browser or device code brings. Whose session it is when it comes, the
/// service knows.
package enum ProviderReply: Sendable {
  /// The provider is known, and the challenge of PKCE is computed.
  case prepared(ProviderMetadata, challenge: String)
  /// The code that the user types elsewhere.
  case deviceGranted(DeviceGrant, at: ProviderMetadata)
  /// The tokens for a browser's code.
  case exchanged(OIDCTokenReply, serverTime: WallTime?)
  /// What became of a device code.
  case deviceAnswered(DeviceAnswer, serverTime: WallTime?)
}

/// A request that has ended, for metrics. The service counts the calls of sessions itself.
package struct EndedRequest: Sendable {
  let upstream: Upstream
  /// What was asked for: a name of a closed list.
  let operation: String
  /// Nil where it was answered as it should be.
  let code: ProtocolErrorCode?
  /// Whether it failed by the upstream's own fault.
  let isUpstreamsFault: Bool
  let duration: Duration
}

/// Makes the calls of sessions. One completion for each: later, never within `start`, and never
/// after `cancel`.
package protocol UpstreamPerforming: AnyObject {
  /// Makes a session's call in its turn. The completion gets its outcome.
  func start(_ request: CallRequest, completion: @escaping (UpstreamOutcome) -> Void)
  /// Prioritises a call, because a caller now waits for it.
  func prioritise(_ id: CallID)
  /// Drops the outcome. A call that is under way continues.
  func cancel(_ id: CallID)
  /// Cancels a call that was not sent. Returns false for any other call, and leaves it
  /// alone.
  func withdraw(_ id: CallID) -> Bool
  /// Ends a session at its backend. The completion gets the failure, if any.
  func signOut(_ request: BackendSignOut, completion: @escaping (UpstreamFailure?) -> Void)
  /// Acts on an account at the backend.
  func account(
    _ call: AccountCall,
    completion: @escaping (Result<AccountResult, UpstreamFailure>) -> Void)
  /// Makes a step of a sign-in at a user pool. The completion gets its outcome: what was computed, a
  /// reply, or a failure.
  func converse(
    _ call: ConversationCall, completion: @escaping (PoolConversation.Event) -> Void)
  /// The same of a sign-in by browser or device code.
  func converse(
    _ call: ProviderCall,
    completion: @escaping (Result<ProviderReply, UpstreamFailure>) -> Void)
  /// The page that ends a browser's own session at the profile's provider, as far as it is known; nil
  /// where there is none.
  func logoutURL(of profile: Profile) -> String?
  /// Asks the servers that profiles need for a sign of life, one after another, each in its turn.
  func probe(_ request: ProbeRequest, completion: @escaping ([ProbeOutcome]) -> Void)
  /// Gets each request that has ended and was not made for a session's call.
  var requestEnded: ((EndedRequest) -> Void)? { get set }
  /// The number of calls that have begun or wait for their turn.
  var callCount: Int { get }
}

/// Sends one request, bounded by its settings. The completion comes later, never within `send`.
package protocol HTTPSending: AnyObject {
  /// Makes the exchange. Any reply is a success, whatever its status.
  func send(
    _ request: HTTPRequest, _ settings: HTTPSettings,
    completion: @escaping (Result<HTTPReply, TransportFailure>) -> Void)
}

/// A command to run: no shell, and no environment but this.
package struct Command: Sendable {
  /// The first argument is the absolute path.
  package let arguments: [String]
  /// All of its variables.
  package let environment: [(name: String, value: Secret)]
  /// What it reads on stdin.
  package let input: Secret
  /// After this time it is killed.
  package let timeout: Duration

  package init(
    _ arguments: [String], environment: [(name: String, value: Secret)], input: Secret,
    timeout: Duration
  ) {
    self.arguments = arguments
    self.environment = environment
    self.input = input
    self.timeout = timeout
  }
}

extension Command {
  /// The values of its variables, hidden in texts that come back.
  var secrets: SentSecrets {
    SentSecrets(environment.filter { $0.name != "PATH" }.map(\.value))
  }
}

/// Runs commands. The completion comes later, never within `run`.
package protocol CommandRunning: AnyObject {
  /// Starts the command, and ends it at its deadline.
  func run(_ command: Command, completion: @escaping (ExecOutcome) -> Void)
}

/// Hashes, a cipher and the arithmetic of SRP. The last goes on ``BackgroundLane/proofs``.
package typealias Crypto = AssertionSigning & BlockCipher & Digests & SRPArithmetic

/// Loads a crypto library when it is first needed. The completion gets nil if there is none; it may
/// run at once.
package protocol CryptoLoading: AnyObject {
  /// Gives the library, loaded once.
  func load(completion: @escaping ((any Crypto)?) -> Void)
}
