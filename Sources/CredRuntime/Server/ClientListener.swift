internal import CLinux
internal import CredCore
internal import CredService

/// A Unix socket on which the server listens. Its owner closes the descriptor.
struct ClientListener {
  let descriptor: Int32
  let socket: ClientSocket
}

extension UnixSocketPath {
  /// The path of a listening socket, as the kernel has it.
  init(boundTo descriptor: Int32) {
    var name = [UInt8](repeating: 0, count: 128)
    let count = unsafe credd_own_name(descriptor, &name, name.count)
    self.init(kernelName: name.prefix(max(count, 0)))
  }
}

extension ListenerReport {
  /// A listening Unix socket, by its path.
  init(_ kind: Kind, boundTo descriptor: Int32) {
    self.init(kind, address: UnixSocketPath(boundTo: descriptor).description)
  }
}
