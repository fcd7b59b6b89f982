/// The keys of a profile with `flow = direct`.
public struct RoleSettings: Sendable, Equatable {
  /// It has a role.
  public var session: RoleSessionSettings
  /// That of STS.
  public var region: String?
  /// The file with the token for STS; nil where a provider gives the token.
  public var tokenFile: String?
}
