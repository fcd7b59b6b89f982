import CLinux
import CredCore
import Glibc
import TestSupport
import Testing

@testable import CredRuntime

/// What the service manager passes.
struct PassedDescriptorsTests {
  private let folder: TemporaryFolder
  private var passed = PassedDescriptors()

  init() throws { folder = try TemporaryFolder() }

  private mutating func add(_ descriptor: Int32, _ name: String) throws {
    try passed.add(PassedDescriptors.Named(descriptor: descriptor, name: name))
  }

  @Test mutating func `listening sockets are taken whatever their names`() throws {
    let bound = try ListeningSocket(path: "\(folder.path)/s", mode: 0o600)
    try add(bound.descriptor, "sessions-a")
    expect(passed.listeners.map(\.name), equals: ["sessions-a"])
    expect(passed.unusable.isEmpty && passed.strays.isEmpty)
  }

  @Test mutating func `the endpoint's sockets are told by name, kind and address`() throws {
    var name = credd_tcp_name()
    name.ipv4 = (127, 0, 0, 1)
    let loopback = unsafe try SystemError.check(credd_listen_loopback(&name, 1), "listen")
    let tokens = try ListeningSocket(path: "\(folder.path)/t", mode: 0o600)
    let netlink = try SystemError.check(credd_diag_socket(), "open a netlink socket")
    let everywhere = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    try #require(listen(everywhere, 1) == 0)
    defer { [loopback, netlink, everywhere].forEach { credd_close($0) } }
    try add(tokens.descriptor, "tokens")
    try add(loopback, "endpoint")
    try add(netlink, "endpoint")
    expect(passed.endpoint.listeners.map(\.descriptor), equals: [loopback])
    expect(passed.endpoint.tokens, equals: [tokens.descriptor])
    expect(passed.endpoint.netlink, equals: netlink)
    expect(passed.listeners.isEmpty && passed.unusable.isEmpty)
    // Another name, or an address that others can reach.
    try add(loopback, "credd")
    try add(everywhere, "endpoint")
    expect(passed.unusable.map(\.descriptor), equals: [loopback, everywhere])
  }

  @Test mutating func `sockets with a cap are told by their name`() throws {
    let bound = try ListeningSocket(path: "\(folder.path)/c", mode: 0o600)
    let main = try ListeningSocket(path: "\(folder.path)/s", mode: 0o600)
    try add(bound.descriptor, "capped")
    try add(main.descriptor, "capped.socket")
    expect(passed.capped.map(\.descriptor), equals: [bound.descriptor])
    expect(passed.listeners.map(\.descriptor), equals: [main.descriptor])
    // Without a usable configuration a socket at the path of a section is closed too.
    let section = "[profile p]\nguest = yes\n[socket \(folder.path)/s]\nprofiles = p\n"
    let reading = Configuration.read(
      [ConfigurationSource(name: "f", bytes: Array(section.utf8))], environment: { _ in nil })
    try #require(reading.configuration == nil)
    let closed = passed.divided(by: reading.understood).closed
    expect(closed.map(\.path.description), equals: ["\(folder.path)/c", "\(folder.path)/s"])
    let without = passed.divided(by: Configuration())
    expect(without.closed.map(\.descriptor), equals: [bound.descriptor])
    expect(without.open, equals: [main.descriptor])
    var neighbours = SocketNeighbours(others: [])
    neighbours.add(passed)
    expect(neighbours.passed, equals: [UnixSocketPath("\(folder.path)/c")])
    expect(neighbours.others.map(\.path), equals: [UnixSocketPath("\(folder.path)/s")])
  }

  @Test mutating func `sessions are told by name and kind`() throws {
    let store = unsafe try SystemError.check(credd_memfd("x"), "memfd")
    defer { credd_close(store) }
    try add(store, "sessions-b")
    expect(passed.stores.map(\.name), equals: ["sessions-b"])
  }

  /// A newer version may have left it: no reason not to start.
  @Test mutating func `what another version left is closed and named`() throws {
    let fifo = "\(folder.path)/f"
    try #require(unsafe mkfifo(fifo, 0o600) == 0)
    let reader = unsafe open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    defer { credd_close(reader) }
    try add(unsafe open(fifo, O_WRONLY | O_CLOEXEC), "tickets")
    expect(passed.strays, equals: ["tickets"])
    // No process has its other end any more.
    var byte: UInt8 = 0
    expect(unsafe credd_read(reader, &byte, 1), equals: 0)
    let null = unsafe open("/dev/null", O_RDWR)
    try add(null, "sessions-c")
    expect(passed.strays, equals: ["tickets", "sessions-c"])
    expect(passed.stores.isEmpty && passed.listeners.isEmpty && passed.unusable.isEmpty)
  }

  @Test(arguments: [(AF_INET, __socket_type(1)), (AF_UNIX, __socket_type(2))])
  mutating func `other sockets are named as unusable`(
    _ family: Int32, _ kind: __socket_type
  ) throws {
    let socket = socket(family, Int32(kind.rawValue), 0)
    defer { credd_close(socket) }
    try add(socket, "web")
    expect(passed.unusable.map(\.name), equals: ["web"])
    expect(passed.listeners.isEmpty && passed.strays.isEmpty)
  }
}
