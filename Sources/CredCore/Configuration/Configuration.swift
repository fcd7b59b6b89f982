/// The checked content of the configuration files.
public struct Configuration: Sendable, Equatable {
  public var daemon = DaemonSettings()
  /// By name.
  public var backends: [String: BackendSettings] = [:]
  /// By name. A request that names no profile means `default`.
  public var profiles: [String: ProfileSettings] = [:]
  /// The session policies of derived and direct profiles, by their paths as the configuration has them.
  public internal(set) var policies: [String: SessionPolicy] = [:]
  /// The sockets with a cap, by path.
  public var sockets: [UnixSocketPath: SocketSettings] = [:]

  public init() {}

  /// The backend of a profile; nil if it has none.
  public func backend(of profile: ProfileSettings) -> BackendSettings? {
    profile.backend.flatMap { backends[$0] }
  }

  /// The session policy that was read for a role, and its file's name without the folder; nil without one.
  func policy(
    of session: RoleSessionSettings
  ) throws(InvalidInput) -> (policy: SessionPolicy, name: String)? {
    guard let path = session.policyFile else { return nil }
    guard let policy = policies[path] else {
      throw InvalidInput(field: "policy_file", reason: "was not read")
    }
    return (policy, String(path.split(separator: "/").last ?? ""))
  }

  /// Reads files in the given order and reports all problems at once.
  ///
  /// - Parameters:
  ///   - policyFile: reads the file of a derived or direct profile's policy, and says what is wrong with it
  ///     or its place.
  ///   - environment: the value of a variable, for `${NAME}` in paths.
  public static func read(
    _ sources: [ConfigurationSource],
    policyFile: @escaping (_ path: String) -> Result<[UInt8], InvalidValue> = { _ in
      .failure(InvalidValue("cannot be read here"))
    },
    environment: @escaping (String) -> String?
  ) -> ConfigurationReading {
    var lines = INIReader()
    lines.read(sources)
    var reader = ConfigurationReader(
      environment: environment, policyFile: policyFile, diagnostics: lines.diagnostics)
    reader.read(lines.document)
    return ConfigurationReading(
      configuration: reader.diagnostics.hasErrors ? nil : reader.configuration,
      understood: reader.configuration,
      diagnostics: reader.diagnostics.inOrder(), positions: reader.positions,
      files: sources.map(\.name))
  }
}
