import CredCore

/// A request that waits for its answer. A class, because few clients wait: a struct would take 640
/// bytes of each.
final class WaitingRequest {
  /// What it waits for.
  enum Subject {
    /// The caller is being looked up: the request then starts again.
    case caller
    /// The session answers.
    case session(Session)
    /// A call that is no session's: about an account, a global sign-out, the questions of a `check`.
    case call(CallID)
  }

  let request: Request
  let subject: Subject
  /// The `op` that the client asked for, by which a refusal is counted. Another operation may have taken its
  /// place, by which an answer is.
  let asked: String
  /// Set where a kept name is not enough: the user database must have been asked at this time or later.
  let nameSince: Instant?
  /// See ``Turn/line``.
  var line: [UInt8] = []
  /// The session of a sign-in that has succeeded, while access is decided before its answer; nil once a
  /// reload may have withdrawn it.
  var signedInTo: Session?
  /// Whose account it is about.
  var account: AccountOwner?
  /// How long the decision to let it wait is valid.
  var allowedUntil = Instant.distantFuture
  /// Who may use the profile was changed since. The former decision is worth nothing, even where
  /// another one cannot be made.
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

/// The user of a user pool whose sign-in a request about the account relies on. What it asks is not
/// done with another user's account, nor by another sign-in.
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
