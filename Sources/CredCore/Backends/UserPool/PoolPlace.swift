/// Where a backend's server stands.
public enum PoolPlace: Sendable, Hashable {
  case primary
  /// The replica of a user pool in another region (Cognito, multi-Region replication).
  case replica
}
