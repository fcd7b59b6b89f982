package import CredCore

/// A Unix socket at which clients connect.
package struct ClientSocket: Hashable, Sendable {
  /// `FileDescriptorName=` of a socket with a cap.
  package static let nameOfCapped = "capped"
  /// The main socket of the daemon, or any other socket without a cap. Its path does not matter.
  package static let main = ClientSocket(path: UnixSocketPath(""), name: "")

  /// As the kernel gives it.
  package let path: UnixSocketPath
  /// The name that the service manager gives it; empty if credd has bound it.
  package let name: String

  package init(path: UnixSocketPath, name: String) {
    self.path = path
    self.name = name
  }

  /// Whether it serves only what a section `[socket PATH]` says, or nothing.
  package var isCapped: Bool { name == Self.nameOfCapped }

  /// What a user does over a socket with a cap counts apart from what the user does elsewhere. Nil for
  /// all other sockets together.
  package var allowance: UnixSocketPath? { isCapped ? path : nil }
}
