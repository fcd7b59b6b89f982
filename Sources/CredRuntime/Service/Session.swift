internal import CredCore

/// A session's machine with what the runtime keeps beside it.
final class Session {
  struct Key: Hashable {
    let uid: UInt32
    let profile: String
  }

  let key: Key
  /// As the configuration has it now.
  var profile: Profile
  /// Nil for a uid without a name.
  var userName: String?
  var machine: SessionMachine
  /// What was last kept for the next process; nil where nothing was.
  struct Kept {
    let snapshot: SessionSnapshot
    let userName: String?
  }

  var kept: Kept?
  private var rendered: RenderedReply?
  /// Until when a plain `get` is answered by `reply` without asking the machine.
  private(set) var quietUntil = Instant(nanoseconds: .min)
  /// Tells these credentials from all others that the daemon ever held; 0 where there are none.
  private(set) var issue: UInt64 = 0
  /// The issue that is known to be in use.
  var usedIssue: UInt64 = 0
  /// Who was handed the credentials of this issue.
  var audited = AuditLedger()
  /// Counted by the service as one whose last refresh failed.
  var isDegraded = false
  /// The call of the session that was made last, and whether it is known that somebody waits.
  var ticket: (id: CallID, isInPerson: Bool)?
  /// Where the ``WakeSchedule`` keeps this session; nil while it need not be woken.
  var wakePlace: Int?

  init(key: Key, profile: Profile, userName: String?, machine: SessionMachine) {
    self.key = key
    self.profile = profile
    self.userName = userName
    self.machine = machine
  }

  /// Whether the credentials at hand are good for that long.
  func lasts(_ time: Duration, _ now: Instant) -> Bool {
    machine.credentials.map { $0.expires - now >= time } ?? false
  }

  /// The answer to a `get`, rendered once for each refresh that somebody asks after; nil without
  /// credentials.
  var reply: RenderedReply? {
    if rendered == nil {
      rendered = machine.credentials.map { RenderedReply.credentials($0.credentials) }
    }
    return rendered
  }

  /// Has the reply rendered anew for whoever asks next. Most sessions are asked once by a process
  /// that then keeps the credentials: they need no second copy.
  func dropReply() { rendered = nil }

  /// Has the reply rendered anew; call whenever the credentials changed.
  ///
  /// - Parameter issue: a number that no credentials had before.
  func render(issue: UInt64) {
    self.issue = machine.credentials == nil ? 0 : issue
    audited.begin()
    quietUntil = machine.quietUntil
    rendered = nil
  }
}

/// An upstream call of a session with all that it takes to perform it.
struct SessionCall: Sendable {
  /// Under which the daemon brings the outcome back.
  let id: CallID
  let call: UpstreamCall
  /// As it was when the call began, whatever a reload does meanwhile.
  let profile: Profile
  let user: UpstreamClient.User
  /// Somebody waits for it.
  let isInPerson: Bool
  /// The last one failed.
  let isRetry: Bool

  init(_ call: UpstreamCall, _ id: CallID, for session: Session) {
    self.call = call
    self.id = id
    profile = session.profile
    user = UpstreamClient.User(uid: session.key.uid, name: session.userName)
    isInPerson = session.machine.isAwaited
    isRetry = session.machine.failures > 0
  }
}

extension GetRequest {
  /// Whether any credentials of the caller's own that are fresh will do.
  var isPlain: Bool { minTTL == nil && !refresh && user == nil }
}

extension Request {
  /// Whether a password came with it, so that its failure counts.
  var isPasswordSignIn: Bool {
    guard case .login(let login) = operation, case .password = login.signIn else { return false }
    return true
  }
}

extension ProtocolError {
  /// For what cannot happen: the machine decides to give only what it holds. Nobody is left waiting.
  static let nothingHeld = ProtocolError(
    .internal, "the session holds nothing to give; report this")
}
