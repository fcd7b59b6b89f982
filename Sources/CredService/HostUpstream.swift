package import CredCore

/// The Unix user that a call is for.
package struct UnixUser: Sendable, Equatable {
  package let uid: UInt32
  /// Nil for a uid without a name.
  package let name: String?

  package init(uid: UInt32, name: String?) {
    self.uid = uid
    self.name = name
  }
}

/// A session's call with everything needed to make it.
package struct CallRequest: Sendable {
  package let id: CallID
  package let call: UpstreamCall
  /// The profile when the call began; a reload does not change it.
  package let profile: Profile
  package let user: UnixUser
  /// A caller waits for it.
  package let isInPerson: Bool
  /// Whether the former call failed.
  package let isRetry: Bool
  /// Who asks; nil where the backend is not told.
  package let caller: CallerNote?

  package init(
    id: CallID, call: UpstreamCall, profile: Profile, user: UnixUser, isInPerson: Bool,
    isRetry: Bool, caller: CallerNote? = nil
  ) {
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
  package let id: CallID
  package let profile: Profile
  package let user: UnixUser
  package let input: AccountInput
  /// Nil for an action before a sign-in.
  package let signedIn: SignedIn?

  /// Whose account it is.
  package struct SignedIn: Sendable {
    let session: PoolSession
    let accessToken: Secret
    /// Whether the session has had the token for some time: it may have been revoked.
    let isHeld: Bool
  }
}

/// A step of a sign-in at a user pool, with everything needed to make it.
package struct ConversationCall: Sendable {
  package let id: CallID
  /// The profile when the sign-in began.
  package let profile: Profile
  package let user: UnixUser
  package let step: ConversationStep
}

package enum ConversationStep: Sendable {
  case send(PoolRequest)
  /// On a thread.
  case compute(PoolProof)
}

/// Makes the calls of sessions. One completion for each: later, never within `start`, and never
/// after `cancel`.
package protocol UpstreamPerforming: AnyObject {
  func start(_ request: CallRequest, completion: @escaping (UpstreamOutcome) -> Void)
  /// Prioritises a call, because a caller now waits for it.
  func prioritise(_ id: CallID)
  /// Drops the outcome. A call that is under way continues.
  func cancel(_ id: CallID)
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
  /// The number of calls that have begun or wait for their turn.
  var callCount: Int { get }
}

/// Sends one request, bounded by its settings. The completion comes later, never within `send`.
package protocol HTTPSending: AnyObject {
  func send(
    _ request: HTTPRequest, _ settings: HTTPSettings,
    completion: @escaping (Result<HTTPReply, TransportFailure>) -> Void)
}

/// A command to run: no shell, and no environment but this.
package struct Command: Sendable {
  /// The first argument is the absolute path.
  package let arguments: [String]
  package let environment: [(name: String, value: Secret)]
  package let input: Secret
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
  func run(_ command: Command, completion: @escaping (ExecOutcome) -> Void)
}

/// Hashes, a cipher and the arithmetic of SRP. The last goes on ``BackgroundLane/proofs``.
package typealias Crypto = BlockCipher & Digests & SRPArithmetic

/// Loads a crypto library when it is first needed. The completion gets nil if there is none; it may
/// run at once.
package protocol CryptoLoading: AnyObject {
  func load(completion: @escaping ((any Crypto)?) -> Void)
}
