/// The sockets of this daemon that stand in no section: on its command line, or passed by systemd.
public struct SocketNeighbours: Sendable {
  /// A socket without a cap, and a name for messages.
  public struct Neighbour: Sendable, Equatable {
    public let path: UnixSocketPath
    public let name: String
    /// Whether a section cannot have just this path. Any other socket at the path of a section is closed.
    public let isOwn: Bool

    public init(_ path: UnixSocketPath, name: String, isOwn: Bool = true) {
      self.path = path
      self.name = name
      self.isOwn = isOwn
    }
  }

  public var others: [Neighbour]
  /// The paths of those that systemd passed with `FileDescriptorName=capped`. Nil if that is not known,
  /// as in `--check-config`.
  public var passed: Set<UnixSocketPath>?

  public init(others: [Neighbour], passed: Set<UnixSocketPath>? = nil) {
    self.others = others
    self.passed = passed
  }
}

extension ConfigurationReading {
  /// This reading, with the errors of sockets with a cap that do not fit to the daemon's other sockets.
  ///
  /// - Parameter resolved: the path in which no folder is a link; may look at the disk.
  public func beside(
    _ neighbours: SocketNeighbours, resolved: (UnixSocketPath) -> UnixSocketPath = { $0 }
  ) -> ConfigurationReading {
    let sockets = understood.sockets.values.sorted { $0.path < $1.path }
    guard !sockets.isEmpty else { return self }
    var found: [Diagnostic] = []
    let others = neighbours.others.filter { $0.isOwn || understood.sockets[$0.path] == nil }
      .map { (resolved($0.path), $0.name) }
    let own = sockets.map { ($0, resolved($0.path)) }
    for (index, (socket, path)) in own.enumerated() {
      let other =
        others.first { path.sharesFolder(with: $0.0) }?.1
        ?? own[..<index].first {
          // Of those that share a folder by their names, the reader has told.
          ($0.1.sharesFolder(with: path) || path.sharesFolder(with: $0.1))
            && !$0.0.sharesFolder(with: socket)
        }?.0.title
      guard let other else { continue }
      found.append(.error(at: socket.position, socket.sharedFolder(with: other)))
    }
    if let error = errorOfIdleExit(sockets, neighbours) { found.append(error) }
    return adding(found)
  }

  /// Nothing would start a daemon again that has ended, for a client of a socket of its own.
  private func errorOfIdleExit(
    _ sockets: [SocketSettings], _ neighbours: SocketNeighbours
  ) -> Diagnostic? {
    guard understood.daemon.exitOnIdle != nil, let passed = neighbours.passed,
      let own = sockets.first(where: { !passed.contains($0.path) })
    else { return nil }
    return .error(
      at: position(of: "exit_on_idle", in: "daemon"),
      "exit_on_idle: systemd does not pass \(own.title), so nothing would start credd for a client "
        + "there: let a socket unit with FileDescriptorName=capped listen at this path, or remove "
        + "exit_on_idle")
  }

  private func adding(_ errors: [Diagnostic]) -> ConfigurationReading {
    guard !errors.isEmpty else { return self }
    return ConfigurationReading(
      configuration: nil, understood: understood,
      diagnostics: (diagnostics + errors).inReadingOrder, positions: positions, files: files)
  }
}

extension Diagnostic {
  fileprivate static func error(at position: SourcePosition?, _ message: String) -> Diagnostic {
    Diagnostic(severity: .error, position: position, message: message)
  }
}
