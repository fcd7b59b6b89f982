import Foundation
import Glibc
import Testing
import TestSupport

@testable import DaemonHarness

/// Profiles for programs. The daemon runs as root here, which may see what others' processes run.
@Suite(.onStage, .enabled(if: OtherUser.canBe, "takes root, which can be other users"))
struct ExecutableTests {
  private func host(_ keys: String, as user: OtherUser? = nil) throws -> TestHost {
    try TestHost(sandbox: ["--any-user"]) { sandbox in
      Configuration.http(url: sandbox.url + "/token")
        + Configuration.profile("default", endpoint: sandbox.url, identifier: "{user}", keys)
    }
  }

  private func digest(_ path: String) throws -> String {
    let sum = try ChildProcess(["/usr/bin/sha256sum", path])
    expect(try sum.wait(), equals: 0)
    return String(sum.output.prefix(64))
  }

  @Test
  func onlyTheNamedProgramsAreServed() throws {
    let stage = try Stage.current()
    let (right, wrong) = (
      try stage.executable(Programs.credctl), try stage.executable(Programs.credctl)
    )
    let host = try host("allow_executables = \(right)")
    expect(try host.credctl(right, as: .games, "get").status, equals: 0)
    let refused = try host.credctl(wrong, as: .games, "get")
    expect(refused.status, equals: 77)
    expect(refused.errors.contains("'default' is not available to 'games'"))
    expect(host.log.contains("executable=\(wrong)"))
    expect(
      try host.credctl(wrong, as: .games, "get", "--profile", "other").errors,
      equals: refused.errors.replacing("'default'", with: "'other'"))
    // The test itself is another program, root though it is.
    expect(try host.ask().errorCode, equals: "AccessDenied")
  }

  /// Connections of a user share an answer where the decision is the user's, as it is not here.
  @Test(.enabled(if: Programs.installed("nc") != nil, "takes nc(1)"))
  func anAnswerIsNotSharedWithOtherProgramsOfTheUser() throws {
    let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    // The list's names end at blanks, and the clone may have one in its path.
    let host = try host("allow_executables = \(own.replacing(" ", with: "?"))")
    let held = try host.connect()
    func expectCredentials() throws {
      try held.send("{}\n")
      expect(try held.reply()["AccessKeyId"] != nil)
    }
    for _ in 0..<2 { try expectCredentials() }
    let other = try host.run([
      "/bin/sh", "-c", #"printf '{}\n' | nc -N -U "$0""#, host.socketPath,
    ])
    expect(try JSON(other.output).errorCode, equals: "AccessDenied")
    try expectCredentials()
  }

  @Test
  func aProgramNarrowsWhatTheListsAdmit() throws {
    let program = try Stage.current().executable(Programs.credctl)
    let other = try Stage.current().executable(Programs.credctl)
    let host = try host("allow_users = games\nallow_executables = \(program)")
    expect(try host.credctl(program, as: .games, "get").status, equals: 0)
    expect(try host.credctl(other, as: .games, "get").status, equals: 77)
    expect(try host.credctl(program, as: .daemon, "get").status, equals: 77)
    expect(try host.get().status, equals: 77)
  }

  @Test
  func theDigestIsOfTheFileThatRuns() throws {
    let program = try Stage.current().executable(Programs.credctl)
    let right = try host("allow_executables = \(program) sha256:\(digest(program))")
    // Twice: the digest is kept for a file that is the same.
    for _ in 0..<2 { expect(try right.credctl(program, as: .games, "get").status, equals: 0) }
    try ChildProcess(["/bin/sh", "-c", "echo >>\(program)"]).wait()
    expect(try right.credctl(program, as: .games, "get").status, equals: 77)
    let wrong = try host(
      "allow_executables = \(program) sha256:\(String(repeating: "0", count: 64))")
    expect(try wrong.credctl(program, as: .games, "get").status, equals: 77)
  }

  /// Anybody can run a file of any size.
  @Test
  func onlyNamedProgramsAreHashed() throws {
    let stage = try Stage.current()
    let (program, huge) = (
      try stage.executable(Programs.credctl), try stage.executable(Programs.credctl)
    )
    try ChildProcess(["/usr/bin/truncate", "-s", "+100M", huge]).wait()
    let host = try host("allow_executables = \(program) sha256:\(digest(program))")
    func bytesRead() throws -> Int {
      let text = try ProcessFile.text(host.daemon.pid, "io")
      return try #require(
        text.split(separator: "\n").first { $0.hasPrefix("rchar: ") }
          .flatMap { Int($0.dropFirst("rchar: ".count)) })
    }
    let before = try bytesRead()
    expect(try host.credctl(huge, as: .games, "get").status, equals: 77)
    expect(try host.credctl(huge, as: .games, "get", "--profile", "other").status, equals: 77)
    expect(try bytesRead() - before < 10 << 20)
    expect(try host.credctl(program, as: .games, "get").status, equals: 0)
  }

  /// Users may mount what they like over any path, in a namespace of their own.
  @Test(.enabled(if: Programs.installed("unshare") != nil, "takes unshare(1)"))
  func anotherFileAtTheSamePathOfAnotherNamespaceIsNotTheProgram() throws {
    let stage = try Stage.current()
    let program = try stage.executable(Programs.credctl)
    let impostor = try stage.executable(Programs.credctl)
    let host = try host("allow_executables = \(program)")
    let unshare = try #require(Programs.installed("unshare"))
    let outcome = try host.run([
      unshare, "-m", "/bin/sh", "-c",
      "mount --bind \(impostor) \(program) && exec \(program) --socket \(host.socketPath) get",
    ])
    expect(outcome.status, equals: 77, "\(outcome.errors)")
    expect(host.log.contains("of another mount namespace"))
  }

  /// As a service without privileges, credd is not told what others run, and refuses them.
  @Test
  func whatCannotBeToldIsRefused() throws {
    let stage = try Stage.current()
    let sandbox = try Sandbox(["--any-user"])
    let (folder, file) = (stage.newFile("run"), stage.newFile("credd.conf"))
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    unsafe chmod(folder, 0o777)
    let text =
      Configuration.http(url: sandbox.url + "/token")
      + Configuration.profile(
        "default", endpoint: sandbox.url, identifier: "{user}", "allow_executables = /*/*/*")
    try Data(text.utf8).write(to: URL(filePath: file))
    let daemon = try ChildProcess(
      try OtherUser.daemon.prefix
        + [try stage.executable(Programs.credd), "--config", file, "--socket", folder + "/s"])
    try Deadline.usual.wait(for: "credd") {
      (try? StreamSocket(unixPath: folder + "/s")) != nil || daemon.status != nil
    }
    unsafe chmod(folder + "/s", 0o777)
    // credctl sends nothing to a socket of that user.
    let caller = try StreamSocket(unixPath: folder + "/s")
    try caller.send("{}\n")
    expect(try caller.reply().errorCode, equals: "AccessDenied")
    expect(daemon.errors.contains("CAP_SYS_PTRACE"))
  }
}
