import CLinux
import Glibc
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
    #expect(passed.listeners.map(\.name) == ["sessions-a"])
    #expect(passed.unusable.isEmpty && passed.strays.isEmpty)
  }

  @Test mutating func `sessions are told by name and kind`() throws {
    let store = unsafe try SystemError.check(credd_memfd("x"), "memfd")
    defer { credd_close(store) }
    try add(store, "sessions-b")
    #expect(passed.stores.map(\.name) == ["sessions-b"])
  }

  /// A newer version may have left it: no reason not to start.
  @Test mutating func `what another version left is closed and named`() throws {
    let fifo = "\(folder.path)/f"
    try #require(unsafe mkfifo(fifo, 0o600) == 0)
    let reader = unsafe open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    defer { credd_close(reader) }
    try add(unsafe open(fifo, O_WRONLY | O_CLOEXEC), "tickets")
    #expect(passed.strays == ["tickets"])
    // No process has its other end any more.
    var byte: UInt8 = 0
    #expect(unsafe credd_read(reader, &byte, 1) == 0)
    let null = unsafe open("/dev/null", O_RDWR)
    try add(null, "sessions-c")
    #expect(passed.strays == ["tickets", "sessions-c"])
    #expect(passed.stores.isEmpty && passed.listeners.isEmpty && passed.unusable.isEmpty)
  }

  @Test(arguments: [(AF_INET, __socket_type(1)), (AF_UNIX, __socket_type(2))])
  mutating func `other sockets are named as unusable`(
    _ family: Int32, _ kind: __socket_type
  ) throws {
    let socket = socket(family, Int32(kind.rawValue), 0)
    defer { credd_close(socket) }
    try add(socket, "web")
    #expect(passed.unusable.map(\.name) == ["web"])
    #expect(passed.listeners.isEmpty && passed.strays.isEmpty)
  }
}
