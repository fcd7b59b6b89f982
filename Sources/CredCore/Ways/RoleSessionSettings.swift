/// The keys of a role's session, in the ways in which STS gives one.
public struct RoleSessionSettings: Sendable, Equatable {
  /// A custom role in the enhanced flow.
  public var roleARN: String?
  /// Expanded, `[\w+=,.@-]{2,64}`.
  public var name = Template.user
  /// The requested lifetime: 15 min to 12 h of a role for a token, 15 min to 1 h of a role that is assumed
  /// from another one, 1 min to 36 h of narrowed credentials.
  public var duration: Duration?
  /// File with a session policy.
  public var policyFile: String?
  /// Managed session policies.
  public var policyARNs: [String] = []

  public init() {}

  /// The lifetime that is asked for, for a token.
  public var lifetime: Duration { duration ?? Self.standardDuration }
  public static let standardDuration = Duration.seconds(3600)
}
