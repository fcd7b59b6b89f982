/// A `[socket PATH]` section: a further Unix socket with a cap. Over it there are only some profiles
/// and some operations.
public struct SocketSettings: Sendable, Equatable {
  /// Absolute, as the kernel gives it; at most ``Limits/Configuration/socketPathBytes``.
  public let path: UnixSocketPath
  /// Names of profiles that exist; never empty.
  public var profiles: [String] = []
  public var operations = SocketSettings.standardOperations
  /// Where the section begins, for messages.
  public let position: SourcePosition

  public static let standardOperations: [CappedOperation] = [.get, .ping, .identity]

  init(path: UnixSocketPath, position: SourcePosition) {
    self.path = path
    self.position = position
  }

  /// The section's header: `[socket PATH]`.
  public var title: String { Self.title(of: path) }

  public static func title(of path: UnixSocketPath) -> String { "[socket \(path)]" }
}

/// The operations that a socket with a cap can have. Each other operation signs somebody in, changes
/// something, or shows profiles that the cap does not name.
public enum CappedOperation: String, Sendable, CaseIterable {
  case get, identity, ping, watch, token, endpoint
}

extension ConfigurationSchema {
  static let socket: [ConfigurationKey<SocketSettings>] = [
    .init(
      "profiles", \.profiles,
      .list(of: "a profile's name", where: \.isProfileName), required: true),
    .init(
      "operations", \.operations, .words(mayBeNone: false),
      standard: SocketSettings.standardOperations.map(\.rawValue).joined(separator: " ")),
  ]
}
