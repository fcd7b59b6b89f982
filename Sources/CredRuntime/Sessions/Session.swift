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
  var ticket: (id: UInt64, isInPerson: Bool)?
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
