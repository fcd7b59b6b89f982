/// A change in a session that watchers and the journal hear of.
public enum Announcement: Sendable, Equatable {
  case state(Standing)
  case identityChanged(previous: IdentityID?, current: IdentityID?)
  case refreshed(expiration: WallTime)
  /// A refresh failed while the credentials at hand are still good.
  case degraded(UpstreamFailure)
  /// An attempt failed, and there are no credentials that could serve meanwhile.
  case failed(UpstreamFailure)
  /// What the user signed in with runs out soon.
  case expiring(ProtocolError)
}
