/// How a profile gets what it hands out.
///
/// A new way is a folder beside this file, a case here and in ``WaySettings`` and ``PlannedWay``, and a line
/// in ``WayCatalog``. Code outside of its folder asks ``WayKind``, and never which way it is.
public indirect enum Way: Sendable, Equatable {
  /// The credentials of an identity in an identity pool.
  case pool(PoolWay)
  /// The credentials of a role, for the provider's own ID token: `flow = direct`.
  case role(RoleWay)
  /// The tokens of the provider at which users sign in, and no credentials.
  case tokens(TokensWay)
  /// Credentials that STS gives for those of another profile.
  case derived(DerivedWay)

  /// - Throws: for values that the configuration reader has refused already.
  init(
    _ settings: ProfileSettings, in configuration: Configuration, groupID: (String) -> UInt32?
  ) throws(InvalidInput) {
    switch settings.way {
    case .pool(let keys):
      self = .pool(try PoolWay(keys, of: settings, in: configuration, groupID: groupID))
    case .role(let keys): self = .role(try RoleWay(keys, of: settings, in: configuration))
    case .tokens: self = .tokens(TokensWay())
    case .derived(let keys):
      self = .derived(try DerivedWay(keys, of: settings, in: configuration, groupID: groupID))
    }
  }

  var kind: any WayKind {
    switch self {
    case .pool(let way): way
    case .role(let way): way
    case .tokens(let way): way
    case .derived(let way): way
    }
  }
}

/// What a session must know of its profile's way.
public enum PlannedWay: Sendable, Equatable {
  // Sessions of one profile share the box, and sessions must stay small.
  indirect case pool(PoolPlan)
  case role
  case tokens
  indirect case derived(DerivedPlan)
}
