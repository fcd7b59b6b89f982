package import CredCore

/// A session's call with everything needed to make it.
package struct CallRequest: Sendable {
  /// The id by which the call is prioritised, cancelled and withdrawn.
  package let id: CallID
  /// The call to make.
  package let call: UpstreamCall
  /// The profile when the call began; a reload does not change it.
  package let profile: Profile
  /// The user for whom the call is made.
  package let user: UnixUser
  /// The account for which the call counts.
  package let account: Account
  /// Whether a caller waits for the call.
  package let isInPerson: Bool
  /// Whether the former call failed.
  package let isRetry: Bool
  /// The caller; nil if the backend is not told.
  package let caller: CallerNote?
  /// Whether a person has signed in to the session, or has an account linked to it.
  package let isPersonal: Bool

  package init(
    id: CallID, call: UpstreamCall, profile: Profile, user: UnixUser, account: Account? = nil,
    isInPerson: Bool, isRetry: Bool, caller: CallerNote? = nil, isPersonal: Bool = false
  ) {
    self.isPersonal = isPersonal
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

/// The servers that `check` asks.
package struct ProbeRequest: Sendable {
  /// The id by which the requests are cancelled.
  package let id: CallID
  /// The profiles with servers to ask.
  package let profiles: [Profile]
  /// After this time, no further server is asked.
  package let until: Instant
}

/// A step of a sign-in at a user pool, with everything needed to make it.
package struct ConversationCall: Sendable {
  /// The id by which the step is cancelled and withdrawn.
  package let id: CallID
  /// The profile when the sign-in began.
  package let profile: Profile
  /// The user who signs in.
  package let user: UnixUser
  /// The step to make.
  package let step: ConversationStep
  /// Where the sign-in began; the primary for its first step, which may go to the replica.
  package let place: PoolPlace
}

/// A step of a sign-in at a user pool.
package enum ConversationStep: Sendable {
  /// Asks the pool.
  case send(PoolRequest)
  /// Computes a proof on a thread.
  case compute(PoolProof)
}

/// A step of a sign-in by browser or device code, with everything needed to make it.
package struct ProviderCall: Sendable {
  /// The id by which the step is cancelled and withdrawn.
  package let id: CallID
  /// The profile when the sign-in began.
  package let profile: Profile
  /// The user who signs in.
  package let user: UnixUser
  /// The request to the provider.
  package let request: ProviderConversation.Request
}

/// The result of a step of a sign-in by browser or device code. The service knows which user has
/// the session when it comes.
package enum ProviderReply: Sendable {
  /// The provider is known, and the challenge of PKCE is computed.
  case prepared(ProviderMetadata, challenge: String)
  /// The code that the user types on another device.
  case deviceGranted(DeviceGrant, at: ProviderMetadata)
  /// The tokens for a browser's code.
  case exchanged(OIDCTokenReply, serverTime: WallTime?)
  /// The provider's answer about a device code.
  case deviceAnswered(DeviceAnswer, serverTime: WallTime?)
}

/// A request that has ended, for metrics. The service counts the calls of sessions itself.
package struct EndedRequest: Sendable {
  let upstream: Upstream
  /// The operation: a name from a closed list.
  let operation: String
  /// The failure; nil for a success.
  let code: ProtocolErrorCode?
  /// Whether the upstream's own fault made the request fail.
  let isUpstreamsFault: Bool
  let duration: Duration
}

/// Makes the calls of sessions. Each call has one completion: it comes later, never within `start`,
/// and never after `cancel`.
package protocol UpstreamPerforming: AnyObject {
  /// Makes a session's call in its turn. The completion gets its outcome.
  func start(_ request: CallRequest, completion: @escaping (UpstreamOutcome) -> Void)
  /// Prioritises a call, because a caller now waits for it.
  func prioritise(_ id: CallID)
  /// Drops the outcome. A call that is under way continues.
  func cancel(_ id: CallID)
  /// Cancels a call that was not sent. Returns false for any other call, which goes on.
  func withdraw(_ id: CallID) -> Bool
  /// Ends a session at its backend. The completion gets the failure, if any.
  func signOut(_ request: BackendSignOut, completion: @escaping (UpstreamFailure?) -> Void)
  /// Acts on an account at the backend.
  func account(
    _ call: AccountCall,
    completion: @escaping (Result<AccountResult, UpstreamFailure>) -> Void)
  /// Makes a step of a sign-in at a user pool. The completion gets its outcome: a computed proof, a
  /// reply, or a failure; and the place that gave it.
  func converse(
    _ call: ConversationCall,
    completion: @escaping (PoolConversation.Event, PoolPlace) -> Void)
  /// The region of the replica that serves a profile's user pool now; nil while the primary does.
  func replicaInUse(of profile: Profile) -> String?
  /// When a backend's enrolment of this host ends; nil where the backend has not said so.
  func hostEnrolmentEnd(at backend: String) -> WallTime?
  /// Makes a step of a sign-in by browser or device code. The completion gets its reply.
  func converse(
    _ call: ProviderCall,
    completion: @escaping (Result<ProviderReply, UpstreamFailure>) -> Void)
  /// The page that ends a browser's own session at the profile's provider; nil if there is none, or
  /// if none is known yet.
  func logoutURL(of profile: Profile) -> String?
  /// Asks whether the servers that profiles need answer: one after another, each in its turn.
  func probe(_ request: ProbeRequest, completion: @escaping ([ProbeOutcome]) -> Void)
  /// Called with each request that has ended, unless it was made for a session's call.
  var requestEnded: ((EndedRequest) -> Void)? { get set }
  /// The number of calls that have begun or wait for their turn.
  var callCount: Int { get }
}

/// Sends one request, within the limits of its settings. The completion comes later, never within
/// `send`.
package protocol HTTPSending: AnyObject {
  /// Sends the request and gets the reply. Any reply is a success, whatever its status.
  func send(
    _ request: HTTPRequest, _ settings: HTTPSettings,
    completion: @escaping (Result<HTTPReply, TransportFailure>) -> Void)
}

/// A command to run: without a shell, and with only this environment.
package struct Command: Sendable {
  /// The first argument is the absolute path.
  package let arguments: [String]
  /// All of its variables.
  package let environment: [(name: String, value: Secret)]
  /// The input on the command's stdin.
  package let input: Secret
  /// After this time the command is killed.
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
  /// Starts the command, and kills it at its deadline.
  func run(_ command: Command, completion: @escaping (ExecOutcome) -> Void)
}

/// Hashes, a cipher and the arithmetic of SRP. The last goes on ``BackgroundLane/proofs``.
package typealias Crypto = AssertionSigning & BlockCipher & Digests & SRPArithmetic

/// Loads a crypto library when it is first needed. The completion gets nil if there is no library;
/// it may run at once.
package protocol CryptoLoading: AnyObject {
  /// Gives the library, loaded once.
  func load(completion: @escaping ((any Crypto)?) -> Void)
}
