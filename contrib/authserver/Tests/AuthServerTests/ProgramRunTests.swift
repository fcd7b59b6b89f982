import AuthCore
import AuthTestSupport
import Foundation
import Glibc
import Testing

@testable import AuthServer

/// The program that prints the server's own credentials.
struct ProgramRunTests {
  @Test func whatItPrintsAndHowItEnds() async throws {
    let run = try await ProgramRun.of(
      ["/bin/sh", "-c", "cat; echo out; echo err >&2; exit 3"], within: .seconds(60), upTo: 1000)
    #expect(!run.isSuccess && run.output == "out\n" && run.errors == "err\n")
  }

  @Test func aProgramHasNoDescriptorOfTheServers() async throws {
    // As NIO makes its sockets.
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    let run = try await ProgramRun.of(
      ["/bin/ls", "/proc/self/fd"], within: .seconds(60), upTo: 1000)
    // The last is the folder itself.
    #expect(run.output.split(separator: "\n") == ["0", "1", "2", "3"])
  }

  /// The server's own has AWS keys, and a database's password.
  @Test func aProgramHasAnEnvironmentOfItsOwn() async throws {
    _ = unsafe setenv("PGPASSWORD", "secret", 1)
    let run = try await ProgramRun.of(["/usr/bin/env"], within: .seconds(60), upTo: 1000)
    #expect(run.output == "PATH=/usr/local/bin:/usr/bin:/bin\n")
  }

  @Test func aProgramGetsNoMoreRights() async throws {
    let run = try await ProgramRun.of(
      ["/bin/grep", "-E", "^(CapAmb|NoNewPrivs):", "/proc/self/status"], within: .seconds(60),
      upTo: 1000)
    #expect(run.output == "CapAmb:\t0000000000000000\nNoNewPrivs:\t1\n")
  }

  @Test func aProgramThatDoesNotEndIsKilled() async throws {
    let folder = try TestFolder()
    let file = folder.path + "/pid"
    await #expect(throws: ProgramRun.Failure.self) {
      try await ProgramRun.of(
        ["/bin/sh", "-c", "echo $$ >\(file).new; mv \(file).new \(file); yes"],
        within: .seconds(60),
        upTo: 1000)
    }
    let pid = try #require(
      pid_t(String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .newlines)))
    #expect(kill(pid, 0) == -1)
  }

  @Test func aProgramHasSoLongAndNoLonger() async throws {
    await #expect(throws: ProgramRun.Failure.self) {
      try await ProgramRun.of(["/bin/sleep", "1000"], within: .seconds(0), upTo: 1000)
    }
  }

  @Test func aProgramThatIsNotThereIsAFailure() async throws {
    await #expect(throws: ProgramRun.Failure.self) {
      try await ProgramRun.of(["/nothing/here"], within: .seconds(60), upTo: 1000)
    }
  }
}
