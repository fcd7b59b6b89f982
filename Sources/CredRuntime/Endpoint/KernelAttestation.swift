internal import CLinux
internal import CredCore
internal import CredLoopback
internal import CredService
internal import Glibc

/// Says who made a TCP connection.
protocol ConnectionAttesting: AnyObject {
  func attest(_ connection: Int32) -> Result<AttestedPeer, AttestationFailure>
}

/// Asks the kernel's table of connections, through one netlink socket that stays open.
final class KernelAttestation: ConnectionAttesting {
  private let connections: LoopbackConnections

  /// - Parameter netlink: a socket of inet-diag, which this object closes. A socket from systemd
  ///   sees the network namespace of the service manager.
  init(_ netlink: Int32) throws(SystemError) {
    connections = LoopbackConnections(netlink)
    try SystemError.check(credd_set_nonblocking(netlink), "prepare the netlink socket")
    try SystemError.check(credd_empty_diag_socket(netlink), "empty the netlink socket")
  }

  /// Opens a netlink socket, for a daemon that systemd did not start.
  convenience init() throws(SystemError) {
    try self.init(try SystemError.check(credd_diag_socket(), "open a netlink socket"))
  }

  func attest(_ connection: Int32) -> Result<AttestedPeer, AttestationFailure> {
    connections.maker(of: connection)
  }

  /// Asks about a connection of this process to itself. If the kernel's module for TCP is missing,
  /// it also answers "no such socket".
  ///
  /// - Throws: if the endpoint could not find out who calls.
  func test() throws(SystemError) {
    var name = credd_tcp_name()
    name.ipv4 = (127, 0, 0, 1)
    let listener = unsafe try SystemError.check(
      credd_listen_loopback(&name, 1), "listen on 127.0.0.1")
    defer { credd_close(listener) }
    let client = unsafe try SystemError.check(
      credd_connect_loopback(&name), "connect to 127.0.0.1")
    defer { credd_close(client) }
    let connection = try SystemError.check(
      credd_accept(listener), "accept a connection from 127.0.0.1")
    defer { credd_close(connection) }
    guard case .success(let peer) = attest(connection), peer.uid == geteuid() else {
      throw SystemError(
        "learn from the kernel who makes a TCP connection; load its modules tcp_diag and inet_diag",
        number: ENOENT)
    }
  }
}

/// The host's control groups, as the kernel shows them in files.
final class SystemControlGroups: ControlGroupQueries {
  /// Where cgroup2 is mounted. Nil on a host without it: then the endpoint knows no units.
  private let root: String?

  convenience init() {
    self.init(
      root: ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].first {
        unsafe credd_is_cgroup2($0) == 1
      })
  }

  init(root: String?) { self.root = root }

  func path(ofControlGroup id: UInt64) -> ControlGroupSearch {
    guard let root else { return .missing }
    var path = [CChar](repeating: 0, count: 4096)
    switch unsafe credd_control_group_path(root, id, &path, path.count) {
    case 1:
      let bytes = path.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
      return String(validating: bytes, as: UTF8.self).map { .found($0) } ?? .missing
    // A walk ends after so many groups, and would again.
    case 0, -E2BIG: return .missing
    default: return .failed
    }
  }

  func isThere(_ path: String, _ id: UInt64) -> Bool {
    guard let root else { return false }
    var inode: UInt64 = 0
    return unsafe credd_inode(root + path, &inode) == 0 && inode == id
  }
}
