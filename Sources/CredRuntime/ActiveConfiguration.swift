public import CredCore
public import Logging

/// A configuration with what the host says about the names in it.
public struct ActiveConfiguration: Sendable {
  let configuration: Configuration
  let profiles: [String: Profile]
  /// Nil where root alone may see everyone's sessions.
  let adminGroup: UInt32?

  /// Asks the host's user database for groups, which may block.
  public init(_ configuration: Configuration, log: Logger) {
    self.configuration = configuration
    let groups = GroupDirectory(log: log)
    profiles = configuration.profiles.mapValues { settings in
      do {
        return try Profile(settings, in: configuration, groupID: groups.id)
      } catch {
        preconditionFailure("the configuration reader let '\(error)' pass")
      }
    }
    adminGroup = configuration.daemon.adminGroup.flatMap(groups.id)
  }

  var daemon: DaemonSettings { configuration.daemon }
}
