/// Where credd listens, and who said so: an error names the remedy by it.
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

  /// The first of: `--socket`, `$CREDD_SOCKET`, `$XDG_RUNTIME_DIR/credd/credd.sock` where it
  /// exists, `/run/credd/credd.sock`. An empty variable counts as unset.
  ///
  /// `sudo` and `su` may leave the variable of whoever called them: passwords are not given to
  /// another user's daemon, nor credentials taken from it, unless it is named.
  ///
  /// - Parameter isOwn: whether a path exists and is this user's.
  public init(
    argument: String?, environment: (String) -> String?, isOwn: (String) -> Bool
  ) {
    if let path = argument ?? environment("CREDD_SOCKET"), !path.isEmpty {
      self.init(path: path, origin: .given)
    } else if let directory = environment("XDG_RUNTIME_DIR"), !directory.isEmpty,
      isOwn(directory + "/credd/credd.sock")
    {
      self.init(path: directory + "/credd/credd.sock", origin: .userManager)
    } else {
      self = .system
    }
  }
}
