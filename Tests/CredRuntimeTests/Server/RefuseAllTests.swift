import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import CredRuntime

/// A daemon that cannot start.
struct RefuseAllTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func `waiting and new clients are told, and the socket stays`() throws {
    let paths = ["\(folder.path)/a", "\(folder.path)/b"]
    let sockets = try paths.map { OnLoop(value: try Listening($0)) }
    let early = try paths.map { try Socket(path: $0) }
    let (clock, done) = (Clock(), DispatchSemaphore(value: 0))
    Thread.detachNewThread {
      ListeningSocket.refuseAll(
        "it is wrong", on: sockets.map { $0.value.bound.descriptor }, now: { clock.now })
      done.signal()
    }
    let told =
      #"{"Version":1,"Error":{"Code":"Internal","Message":"it is wrong","Kind":"permanent"}}"#
    expect(early.map { $0.line() }, equals: [told, told])
    // Its time is not up yet: systemd would start the next one at once.
    clock.advance(by: ServerLimits.refusalNanoseconds - 1)
    let late = try Socket(path: paths[1])
    expect(late.line(), equals: told)
    clock.advance(by: 1)
    expect(done.waitWithLimit())
    // No process accepts any more, and nothing was removed.
    expect((try? Socket(path: paths[0])) != nil)
  }

  @Test func `at a socket with a cap everybody is denied`() throws {
    let paths = ["\(folder.path)/a", "\(folder.path)/b"]
    let sockets = try paths.map { OnLoop(value: try Listening($0)) }
    let clients = try paths.map { try Socket(path: $0) }
    let (clock, done) = (Clock(), DispatchSemaphore(value: 0))
    Thread.detachNewThread {
      let descriptors = sockets.map { $0.value.bound.descriptor }
      ListeningSocket.refuseAll(
        "it is wrong", on: [descriptors[0]], closed: [descriptors[1]], now: { clock.now })
      done.signal()
    }
    let lines = clients.map { $0.line() ?? "" }
    expect(lines[0].contains(#""Code":"Internal""#), "\(lines)")
    expect(lines[1].contains(#""Code":"AccessDenied""#) && !lines[1].contains("wrong"), "\(lines)")
    clock.advance(by: ServerLimits.refusalNanoseconds)
    expect(done.waitWithLimit())
  }

  @Test func `without a socket there is no client to wait for`() {
    var looks = 0
    ListeningSocket.refuseAll("it is wrong", on: []) {
      looks += 1
      return Int64(looks) * ServerLimits.refusalNanoseconds
    }
    expect(looks, equals: 0)
  }

  /// Stands still unless a test moves it.
  private final class Clock: Sendable {
    private let nanoseconds = Atomic<Int64>(1)
    var now: Int64 { nanoseconds.load(ordering: .relaxed) }
    func advance(by time: Int64) { nanoseconds.add(time, ordering: .relaxed) }
  }

  /// Non-blocking, as those of systemd are made.
  private final class Listening {
    let bound: ListeningSocket

    init(_ path: String) throws {
      bound = try ListeningSocket(path: path, mode: 0o600)
      let flags = fcntl(bound.descriptor, F_GETFL)
      _ = fcntl(bound.descriptor, F_SETFL, flags | O_NONBLOCK)
    }
  }
}
