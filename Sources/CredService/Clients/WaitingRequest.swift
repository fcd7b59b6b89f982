import CredCore

/// A request that waits for its answer. A class, because few clients wait: a struct would take 640
/// bytes in each client.
final class WaitingRequest {
  /// The answer for which it waits.
  enum Subject {
    /// The caller is being looked up: the request then starts again.
    case caller
    /// The session answers.
    case session(Session)
    /// A call that belongs to no session: an action on an account, a global sign-out, or the
    /// requests of a `check`.
    case call(CallID)
  }

  let request: Request
  let subject: Subject
  /// The `op` that the client asked for. A refusal is counted under this name. Another operation
  /// may have taken its place: an answer is counted under the name of the other one.
  let asked: String
  /// Set if a kept name is not enough: the user database must have been asked at this time or
  /// later.
  let nameSince: Instant?
  /// See ``Turn/line``.
  var line: [UInt8] = []
  /// The session of a successful sign-in, while access is decided before the answer; nil once a
  /// reload may have withdrawn that access.
  var signedInTo: Session?
  /// The owner of the account that the request is about.
  var account: AccountOwner?
  /// How long the decision to let the request wait is valid.
  var allowedUntil = Instant.distantFuture
  /// Whether the access rules of the profile have changed since. Then the former decision is void,
  /// even if no new one can be made.
  var isUndecided = false

  init(_ request: Request, for subject: Subject, asked: String, nameSince: Instant?) {
    self.request = request
    self.subject = subject
    self.asked = asked
    self.nameSince = nameSince
  }

  var session: Session? { if case .session(let session) = subject { session } else { nil } }

  var isForCaller: Bool { if case .caller = subject { true } else { false } }

  func isFor(_ call: CallID) -> Bool {
    if case .call(let id) = subject { id == call } else { false }
  }
}

/// The user of a user pool who is signed in when a request about an account begins. The request is
/// not carried out on another user's account, or with another sign-in.
struct AccountOwner: Equatable {
  private let issuer: ProviderIssuer
  private let username: [UInt8]
  private let signedInAt: WallTime?

  init(_ session: ProviderSession) {
    issuer = session.issuer
    username = Array(session.username.utf8)
    signedInAt = session.signedInAt
  }
}
