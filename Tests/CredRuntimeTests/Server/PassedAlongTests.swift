import Foundation
import Glibc
import TestSupport
import Testing

@testable import CredRuntime

/// Clients that pass descriptors along (SCM_RIGHTS).
struct PassedAlongTests {
  enum Way: CaseIterable {
    case read
    case outOfBand
    case neverRead
  }

  /// As on kernels before 6.16, and for clients that connected before credd first started.
  @Test(arguments: Way.allCases)
  func `a socket that lingers delays no other client`(_ way: Way) throws {
    let fixture = try ServerFixture()
    fixture.letDescriptorsThrough()
    let client = try fixture.connect()
    client.send("wait\n")
    expect(try fixture.reaches { receiver, _ in receiver.waiting.count == 1 })
    let socket = try LingeringSocket()
    expect(
      socket.pass(along: client, with: "x", flags: way == .outOfBand ? Int(MSG_OOB) : 0))
    client.send("\n")
    socket.letGo()
    if way == .neverRead { client.shutDown() }
    try fixture.run { receiver, _ in receiver.answerWaiting() }
    expect(try fixture.sawClosing())
    let other = try fixture.connect()
    other.send("still there\n")
    expect(other.line(), equals: "re:still there")
    withExtendedLifetime(socket) {}
  }

  @Test func `a client that passes a descriptor is closed`() throws {
    let fixture = try ServerFixture()
    fixture.letDescriptorsThrough()
    let client = try fixture.connect()
    expect(try LingeringSocket().pass(along: client, with: "x\n"))
    expect(client.rest().isEmpty)
  }

  /// The close() of a received one would ask its file system to flush, and wait for it.
  @Test func `what is passed is never received`() throws {
    let fixture = try ServerFixture()
    fixture.letDescriptorsThrough()
    let folder = try TemporaryFolder()
    let files = (0..<3).map { _ in unsafe open(folder.path + "/f", O_RDWR | O_CREAT, 0o600) }
    defer { files.forEach { close($0) } }
    // A lock of this process, which any close() of the file in it gives up (fcntl(2)).
    var lock = flock(l_type: Int16(F_WRLCK), l_whence: 0, l_start: 0, l_len: 0, l_pid: 0)
    expect(unsafe fcntl(files[0], F_SETLK, &lock), equals: 0)
    let client = try fixture.connect()
    expect(client.pass(files[1], with: "x\n"))
    expect(client.rest().isEmpty)
    // F_OFD_GETLK, which is of this descriptor and so sees what the process has.
    lock.l_pid = 0
    expect(unsafe fcntl(files[2], 36, &lock), equals: 0)
    expect(lock.l_type, equals: Int16(F_WRLCK))
  }

  @Test(.enabled(if: Socket.canRefuseDescriptors, "this kernel is older than 6.16"))
  func `no descriptor is let through where a socket may refuse them`() throws {
    let fixture = try ServerFixture()
    let client = try fixture.connect()
    expect(try !LingeringSocket().pass(along: client, with: "x\n"))
    // Nothing of that message has come, and the connection lives on.
    client.send("y\n")
    expect(client.line(), equals: "re:y")
  }
}
