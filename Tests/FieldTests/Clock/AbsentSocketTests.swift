import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// credctl waits a moment for a socket that is made anew.
@Suite(.onStage)
struct AbsentSocketTests {
  /// - Parameter present: makes what is at the path while the socket is away.
  private func expectToSurvive(
    _ host: TestHost, _ arguments: [String], whileThereIs present: (String) throws -> Void
  ) throws {
    let aside = host.socketPath + ".aside"
    var judged = 0
    let deadline = Deadline.usual
    while judged < 3 {
      guard !deadline.hasPassed else { throw Overdue("a socket that is away for a moment alone") }
      expect(unsafe rename(host.socketPath, aside), equals: 0)
      try present(host.socketPath)
      let began = ContinuousClock.now
      let process = try ChildProcess([Programs.credctl, "--socket", host.socketPath] + arguments)
      usleep(60_000)
      expect(unsafe rename(aside, host.socketPath), equals: 0)
      let away = ContinuousClock.now - began
      let status = try process.wait()
      // On a busy machine the socket may have been away for longer than credctl waits.
      guard away < .milliseconds(200) else { continue }
      judged += 1
      expect(status, equals: 0, "\(process.errors)")
    }
  }

  @Test(arguments: [["get"], ["ping"], ["status"]])
  func aSocketThatIsAwayForAMomentIsWaitedFor(_ arguments: [String]) throws {
    try expectToSurvive(try TestHost(), arguments) { _ in }
  }

  @Test
  func aSocketThatRefusesForAMomentIsWaitedFor() throws {
    // What is bound and does not listen, or what a dead process left.
    try expectToSurvive(try TestHost(), ["get"]) { path in
      let server = try ChildProcess([
        "/usr/bin/python3", "-c",
        "import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])", path,
      ])
      expect(try server.wait(), equals: 0)
    }
  }

  @Test
  func aSocketThatDoesNotComeIsNotWaitedForLong() throws {
    let stage = try Stage.current()
    let began = ContinuousClock.now
    let process = try ChildProcess([Programs.credctl, "--socket", stage.newFile("none"), "get"])
    expect(try process.wait(), equals: 69)
    expect(ContinuousClock.now - began >= .milliseconds(300))
    expect(process.errors.contains("credd is not running"))
  }
}
