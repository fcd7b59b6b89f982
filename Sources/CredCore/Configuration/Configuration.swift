/// Everything the configuration files say, checked.
public struct Configuration: Sendable, Equatable {
  public var daemon = DaemonSettings()
  /// By name.
  public var backends: [String: BackendSettings] = [:]
  /// By name; `default` is the one a request means that names none.
  public var profiles: [String: ProfileSettings] = [:]

  public init() {}

  /// The backend that a profile names.
  public func backend(of profile: ProfileSettings) -> BackendSettings? {
    profile.backend.flatMap { backends[$0] }
  }

  /// Whether a uid without a name cannot use the profile.
  public func needsUserName(_ profile: ProfileSettings) -> Bool {
    if profile.flow == .basic, profile.roleSessionName.needsUserName { return true }
    return backend(of: profile)?.needsUserName(userIdentifier: profile.userIdentifier) ?? false
  }

  /// Reads files in the order given. All problems are found at once.
  ///
  /// - Parameter environment: the value of a variable, for `${NAME}` in paths.
  public static func read(
    _ sources: [ConfigurationSource], environment: @escaping (String) -> String?
  ) -> ConfigurationReading {
    var lines = INIReader()
    lines.read(sources)
    var reader = ConfigurationReader(environment: environment, diagnostics: lines.diagnostics)
    reader.read(lines.document)
    return ConfigurationReading(
      configuration: reader.diagnostics.hasErrors ? nil : reader.configuration,
      diagnostics: reader.diagnostics.inOrder())
  }
}
