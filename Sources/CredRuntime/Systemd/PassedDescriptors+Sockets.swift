public import CredCore

extension PassedDescriptors {
  /// A socket that serves nobody while there is no configuration.
  public struct Closed: Sendable {
    public let descriptor: Int32
    public let path: UnixSocketPath
  }

  /// Which listeners tell their clients that the configuration is unusable, and which are closed,
  /// because they are named `capped` or at the path of a section.
  ///
  /// - Parameter understood: the part of the configuration that could be read.
  public func divided(by understood: Configuration) -> (open: [Int32], closed: [Closed]) {
    var open: [Int32] = []
    var closed = capped.map {
      Closed(descriptor: $0.descriptor, path: UnixSocketPath(boundTo: $0.descriptor))
    }
    for listener in listeners {
      let path = UnixSocketPath(boundTo: listener.descriptor)
      if understood.sockets[path] == nil {
        open.append(listener.descriptor)
      } else {
        closed.append(Closed(descriptor: listener.descriptor, path: path))
      }
    }
    return (open, closed)
  }
}

extension SocketNeighbours {
  /// Adds what systemd has passed.
  public mutating func add(_ descriptors: PassedDescriptors) {
    let paths = descriptors.listeners.map { UnixSocketPath(boundTo: $0.descriptor) }
    // Another listener at the path of a section is closed, and the daemon goes on. The only one is the
    // daemon's own.
    others += paths.map {
      Neighbour($0, name: "credd's own socket \($0)", isOwn: paths.count == 1)
    }
    others += descriptors.endpoint.tokens.map {
      let path = UnixSocketPath(boundTo: $0)
      return Neighbour(path, name: "the socket of tokens \(path)")
    }
    passed = Set(descriptors.capped.map { UnixSocketPath(boundTo: $0.descriptor) })
  }
}
