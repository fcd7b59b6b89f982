import CredCore

/// Which door each socket is, by the configuration in force.
///
/// A socket with a cap never becomes one without: where name, path and section do not fit together, it
/// is closed.
final class Doors {
  private let configuration: ConfigurationInForce
  /// The paths that a section has, or had since the daemon's start.
  private var paths: Set<UnixSocketPath>

  init(_ configuration: ConfigurationInForce) {
    self.configuration = configuration
    paths = Set(configuration.current.caps.keys)
  }

  func door(of socket: ClientSocket) -> Door {
    if socket.isCapped {
      return configuration.current.caps[socket.path].map(Door.capped) ?? .closed
    }
    return paths.contains(socket.path) ? .closed : .main
  }

  /// Gives clients the doors of another configuration.
  ///
  /// - Returns: the clients with another door than before.
  func configurationChanged(_ clients: [Client]) -> [Client] {
    paths.formUnion(configuration.current.caps.keys)
    var changed: [Client] = []
    for client in clients where client.http == nil {
      let door = door(of: client.socket)
      if !client.door.isLike(door) { changed.append(client) }
      client.door = door
    }
    return changed
  }

  // MARK: Problems

  /// Why a socket refuses everybody, and what to do; nil if it does not.
  ///
  /// - Parameter passed: all sockets that the service manager has passed.
  func problem(of socket: ClientSocket, among passed: [ClientSocket]) -> String? {
    let sections = configuration.current.configuration.sockets
    let title = SocketSettings.title(of: socket.path)
    guard case .closed = door(of: socket) else { return nil }
    guard socket.isCapped else {
      guard sections[socket.path] != nil else {
        return
          "it refuses everybody: \(title) was taken away, and \(socket.path) becomes no socket "
          + "without a cap before credd is started again"
      }
      return
        "it refuses everybody: \(title) needs FileDescriptorName=capped, and \(socket.path) was "
        + "passed as '\(socket.name)': set this name in its socket unit"
    }
    let served = Set(passed.filter(\.isCapped).map(\.path))
    let lonely = sections.keys.filter { !served.contains($0) }.sorted()
    let meant =
      lonely.isEmpty
      ? "add this section, or stop its socket unit"
      : "no socket is passed for \(lonely.map { SocketSettings.title(of: $0) }.joined(separator: ", ")): give both "
        + "the same path"
    return "it refuses everybody: \(socket.path) has no section \(title); \(meant)"
  }
}

extension Door {
  /// Whether the same is there for a client.
  fileprivate func isLike(_ other: Door) -> Bool {
    switch (self, other) {
    case (.main, .main), (.closed, .closed): true
    case (.capped(let one), .capped(let two)):
      one.profileNames == two.profileNames && one.operations == two.operations
    default: false
    }
  }
}
