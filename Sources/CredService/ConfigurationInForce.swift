import CredCore

/// The configuration that is in force, and the problem of a newer one, if it was refused.
final class ConfigurationInForce {
  private(set) var current: ResolvedConfiguration
  /// Since when this configuration is in force.
  private(set) var since: WallTime
  /// Why a newer configuration was refused.
  private(set) var problem: String?

  init(_ configuration: ResolvedConfiguration, since: WallTime) {
    current = configuration
    self.since = since
  }

  /// Nil if there is no such profile.
  subscript(profile: String) -> Profile? { current.profiles[profile] }

  /// The names of all profiles, sorted.
  var profileNames: [String] { current.profileNames }

  var daemon: DaemonSettings { current.daemon }

  func loaded(at time: WallTime) {
    since = time
    problem = nil
  }

  /// Called also when the user database resolves a group later.
  func replace(by next: ResolvedConfiguration) { current = next }

  func refused(_ problem: String?) { self.problem = problem }
}
