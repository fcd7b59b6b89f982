import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// How the static credctl starts: Swift's runtime wants more of a host than credctl does.
@Suite(
  .onStage, .enabled(if: Programs.shipped != nil, "CREDD_SHIPPED_DIR is not set"))
struct ClientStartTests {
  /// A service whose environment somebody set for another program gets credentials, and nothing on
  /// standard error: some callers of credential_process take that for a failure.
  @Test
  func settingsOfSwiftsRuntimeAreNoBusinessOfCredctl() throws {
    let host = try TestHost()
    let environment = [
      "SWIFT_BACKTRACE": "enable=yes,unwind=unknown,nonsense=1", "SWIFT_DEBUG_HELP": "1",
      "SWIFT_DEBUG_ENABLE_METADATA_ALLOCATION_ITERATION": "perhaps",
    ]
    let client = try ChildProcess(
      [Programs.credctl, "--socket", host.socketPath, "get"], environment: environment)
    expect(try client.wait(), equals: 0)
    expect(client.errors, equals: "")
    // They may be for the program that it starts.
    let started = try ChildProcess(
      [Programs.credctl, "--socket", host.socketPath, "exec", "--", "/usr/bin/env"],
      environment: environment)
    expect(try started.wait(), equals: 0)
    expect(started.errors, equals: "")
    expect(
      Set(environment.map { "\($0.key)=\($0.value)" })
        .isSubset(of: started.output.split(separator: "\n").map(String.init)))
  }

  /// Swift's own start searches /proc/self/maps for the arguments, which takes a twelfth of the time of
  /// a `get`.
  @Test(.enabled(if: Programs.installed("strace") != nil, "takes strace(1)"))
  func opensNothingInProc() throws {
    let host = try TestHost()
    let trace = try Stage.current().newFile("trace")
    let client = try ChildProcess([
      try #require(Programs.installed("strace")), "-o", trace, "-e", "trace=open,openat,execve",
      Programs.credctl, "--socket", host.socketPath, "get",
    ])
    expect(try client.wait(), equals: 0, "\(client.errors)")
    let calls = try String(contentsOfFile: trace, encoding: .utf8)
    expect(calls.contains("execve(") && !calls.contains("\"/proc/"), "\(calls)")
  }

  /// docs/containers.md: a static program that needs no other file of the image, not even /proc.
  @Test(.enabled(if: getuid() == 0, "chroot takes root"))
  func startsWhereThereIsNothingElse() throws {
    let host = try TestHost()
    let socket = URL(filePath: host.socketPath)
    let program = try Stage.current().executable(Programs.credctl)
    let name = "/" + URL(filePath: program).lastPathComponent
    let chroot = [
      try #require(Programs.installed("chroot")), socket.deletingLastPathComponent().path,
    ]
    let words = [name, "--socket", "/" + socket.lastPathComponent]
    let client = try ChildProcess(chroot + words + ["get"])
    expect(try client.wait(), equals: 0, "\(client.errors)")
    expect(client.errors, equals: "")
    expect(client.output.contains("AccessKeyId"))
    // ArgumentParser's verbs too.
    let status = try ChildProcess(chroot + words + ["status"])
    expect(try status.wait(), equals: 0, "\(status.errors)")
    expect(status.errors, equals: "")
  }
}
