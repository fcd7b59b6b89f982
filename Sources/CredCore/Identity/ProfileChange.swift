/// What a change of its profile's configuration means for a session.
public enum ProfileChange: Sendable, Equatable {
  /// Nothing that the session holds depends on what changed.
  case nothingHeld
  /// The credentials are no longer what the profile would give: fetched anew. The user stays.
  case credentials
  /// The user would be another one, or known by other means: the session begins anew.
  case identity
}

extension Profile {
  /// What a session of this profile may keep when the profile is `next` from now on: the same as
  /// across a restart.
  public func change(to next: Profile) -> ProfileChange {
    if identityFingerprint != next.identityFingerprint { return .identity }
    return credentialsFingerprint == next.credentialsFingerprint ? .nothingHeld : .credentials
  }
}
