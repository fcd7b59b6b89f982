import Foundation
import Glibc
import Testing

@testable import CredRuntime

/// Clients that pass descriptors along (SCM_RIGHTS).
struct PassedAlongTests {
  enum Way: CaseIterable {
    case read
    case outOfBand
    case neverRead
  }

  /// As on kernels before 6.16, and for who connected before credd was started for the first time.
  @Test(arguments: Way.allCases)
  func `a socket that lingers holds up nobody`(_ way: Way) throws {
    let fixture = try ServerFixture()
    fixture.letDescriptorsThrough()
    let client = try fixture.connect()
    client.send("park\n")
    #expect(try fixture.reaches { handler, _ in handler.parked.count == 1 })
    let socket = try LingeringSocket()
    #expect(
      socket.pass(along: client, with: "x", flags: way == .outOfBand ? Int(MSG_OOB) : 0))
    client.send("\n")
    socket.letGo()
    if way == .neverRead { client.shutDown() }
    try fixture.run { handler, _ in handler.answerParked() }
    #expect(try fixture.sawClosing())
    let other = try fixture.connect()
    other.send("still there\n")
    #expect(other.line() == "re:still there")
    withExtendedLifetime(socket) {}
  }

  @Test func `who passes a descriptor is cut`() throws {
    let fixture = try ServerFixture()
    fixture.letDescriptorsThrough()
    let client = try fixture.connect()
    #expect(try LingeringSocket().pass(along: client, with: "x\n"))
    #expect(client.rest().isEmpty)
  }

  @Test func `the kernel lets none through, where it can`() throws {
    let fixture = try ServerFixture()
    let client = try fixture.connect()
    let isThrough = try LingeringSocket().pass(along: client, with: "x\n")
    if !isThrough { client.send("y\n") }
    #expect(client.line() == (isThrough ? nil : "re:y"))
  }
}
