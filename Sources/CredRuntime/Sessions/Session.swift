internal import CredCore

/// A session's machine with what the runtime keeps beside it.
final class Session {
  struct Key: Hashable {
    let uid: UInt32
    let profile: String
  }

  let key: Key
  let profile: Profile
  /// Nil for a uid without a name.
  var userName: String?
  var machine: SessionMachine
  /// The answer to a `get`, rendered once for each refresh; nil without credentials.
  private(set) var reply: RenderedReply?
  /// Until when a plain `get` is answered by `reply` without asking the machine.
  private(set) var quietUntil = Instant(nanoseconds: .min)
  /// Where the ``WakeSchedule`` keeps this session; nil while it need not be woken.
  var wakePlace: Int?

  init(key: Key, profile: Profile, userName: String?, machine: SessionMachine) {
    self.key = key
    self.profile = profile
    self.userName = userName
    self.machine = machine
  }

  /// Renders the reply anew; call whenever the credentials changed.
  func render() {
    quietUntil = machine.quietUntil
    reply = machine.credentials.map { RenderedReply.credentials($0.credentials) }
  }
}
