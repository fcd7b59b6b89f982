/// The path where credd listens, and its origin, on which the advice of an error depends.
public struct SocketPath: Equatable, Sendable {
  public enum Origin: Equatable, Sendable {
    /// `--socket` or `$CREDD_SOCKET`.
    case given
    /// The user manager's socket.
    case userManager
    /// The system's socket.
    case system
  }

  public var path: String
  public var origin: Origin

  /// The socket of `credd.socket` of the system manager.
  public static let system = SocketPath(path: "/run/credd/credd.sock", origin: .system)

  init(path: String, origin: Origin) {
    self.path = path
    self.origin = origin
  }

  /// Takes the first of: `--socket`, `$CREDD_SOCKET`, `$XDG_RUNTIME_DIR/credd/credd.sock` if it exists,
  /// `/run/credd/credd.sock`. An empty variable counts as unset. credctl checks who listens there
  /// when it is connected: see ``Listener``.
  ///
  /// - Parameters:
  ///   - exists: whether a path exists.
  ///   - passesOverUser: whether the socket in `$XDG_RUNTIME_DIR` was found to be another user's.
  public init(
    argument: String?, environment: (String) -> String?, exists: (String) -> Bool,
    passesOverUser: Bool = false
  ) {
    if let path = Self.given(argument, environment) {
      self.init(path: path, origin: .given)
    } else if !passesOverUser, let path = Self.userManager(environment), exists(path) {
      self.init(path: path, origin: .userManager)
    } else {
      self = .system
    }
  }

  /// Whether a socket may appear in a moment. When systemd restarts the socket's unit, it removes
  /// the socket and makes it again, but the folder stays.
  public static func mayAppear(
    argument: String?, environment: (String) -> String?, exists: (String) -> Bool
  ) -> Bool {
    if let path = given(argument, environment) { return exists(folder(of: path)) }
    return [system.path, userManager(environment)].contains {
      $0.map { exists(folder(of: $0)) } ?? false
    }
  }

  private static func given(_ argument: String?, _ environment: (String) -> String?) -> String? {
    guard let path = argument ?? environment("CREDD_SOCKET"), !path.isEmpty else { return nil }
    return path
  }

  private static func userManager(_ environment: (String) -> String?) -> String? {
    guard let directory = environment("XDG_RUNTIME_DIR"), !directory.isEmpty else { return nil }
    return directory + "/credd/credd.sock"
  }

  static func folder(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.utf8.startIndex ? "/" : String(path[..<slash])
  }
}
