public import CredCore

/// What the command line and the surroundings say, which no reload changes.
public struct DaemonOptions: Sendable {
  /// Reads the configuration anew; runs on a thread of its own.
  let readConfiguration: @Sendable () -> Result<ConfigurationReading, SystemError>
  /// The level of all loggers; nil where the command line settled it.
  let logThreshold: LogThreshold?
  /// The listening sockets are systemd's, which starts the daemon when somebody connects.
  let isActivated: Bool
  /// Where IdentityIds are kept; nil for nowhere.
  let stateDirectory: String?
  /// Where sessions wait while no daemon runs; nil for nowhere.
  let runtimeDirectory: String?

  public init(
    logThreshold: LogThreshold?, isActivated: Bool,
    stateDirectory: String? = ServiceDirectory.state,
    runtimeDirectory: String? = ServiceDirectory.runtime,
    readConfiguration: @escaping @Sendable () -> Result<ConfigurationReading, SystemError>
  ) {
    self.readConfiguration = readConfiguration
    self.logThreshold = logThreshold
    self.isActivated = isActivated
    self.stateDirectory = stateDirectory
    self.runtimeDirectory = runtimeDirectory
  }
}
