/// The result of an action of `account`.
public enum AccountResult: Sendable, Equatable {
  case done
  /// It has ended the session's sign-in.
  case signedOut
  case signedUp(SignUpResult)
  /// Nil where the pool does not say it, and before a sign-in.
  ///
  /// - Parameter unsent: why no code was sent. It is for the record alone: a user who asks is told as if one
  ///   had been.
  case codeSent(SignUpResult.Delivery?, unsent: UpstreamFailure? = nil)
  case user(PoolUser)
  case softwareToken(secret: Secret, uri: Secret)
  /// - Parameter own: the key of this host's device.
  case devices(PoolDevicePage, own: String?)
  case sessions(TrackedSessionPage)
}
