import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// More programs of one user at once than it may have connections.
@Suite(.onStage)
struct ManyClientsTests {
  private func host() throws -> TestHost {
    try TestHost { Configuration.usual($0, daemon: "max_connections_per_user = 4") }
  }

  private func get(_ host: TestHost) throws -> ChildProcess {
    try ChildProcess([Programs.credctl, "--socket", host.socketPath, "get", "--wait", "300"])
  }

  @Test func aGetBeyondTheLimitWaitsForAPlace() throws {
    let host = try host()
    let credentials = try host.credentials()
    let held = try host.servedConnections(4)
    let process = try get(host)
    try Deadline.usual.wait(for: "its refusal") { host.log.contains("a limit was hit") }
    expect(process.status == nil, "\(process.errors)")
    held[0].finishSending()
    expect(try process.wait(), equals: 0, "\(process.errors)")
    expect(try JSON(process.output), equals: credentials)
    expect(process.errors, equals: "")
  }

  @Test func aGetThatFindsNoPlaceInItsTimeNamesTheLimit() throws {
    let host = try host()
    let held = try host.servedConnections(4)
    let outcome = try host.credctl("get", "--wait", "0.2")
    expect(outcome.status, equals: EX_TEMPFAIL)
    expect(outcome.output, equals: "")
    expect(
      outcome.errors,
      equals: "credctl: this user has too many connections: more than 4 "
        + "(max_connections_per_user); try again later\n")
    withExtendedLifetime(held) {}
  }

  @Test func manyProcessesAtAColdCacheAreAllAnswered() throws {
    let host = try host()
    try host.sandbox.plan(#"{"Service":"backend","Kind":"delay","Seconds":1}"#)
    let processes = try (0..<24).map { _ in try get(host) }
    var outputs: Set<String> = []
    for process in processes {
      expect(try process.wait(), equals: 0, "\(process.errors)")
      outputs.insert(process.output)
    }
    expect(outputs.count, equals: 1)
    expect(try host.sandbox.callbacks, equals: 1)
  }
}
