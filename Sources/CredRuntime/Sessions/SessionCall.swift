internal import CredCore

/// An upstream call of a session with all that it takes to perform it.
struct SessionCall: Sendable {
  /// Under which the daemon brings the outcome back.
  let number: UInt64
  let call: UpstreamCall
  /// As it was when the call began, whatever a reload does meanwhile.
  let profile: Profile
  let user: UpstreamClient.User
  /// Somebody waits for it.
  let isInPerson: Bool
  /// The last one failed.
  let isRetry: Bool

  init(_ call: UpstreamCall, as number: UInt64, for session: Session) {
    self.call = call
    self.number = number
    profile = session.profile
    user = UpstreamClient.User(uid: session.key.uid, name: session.userName)
    isInPerson = session.machine.isAwaited
    isRetry = session.machine.failures > 0
  }
}
