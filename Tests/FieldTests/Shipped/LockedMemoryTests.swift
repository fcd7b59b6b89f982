import Foundation
import Glibc
import Testing
import TestSupport

@testable import DaemonHarness

/// Memory that is never written to a disk.
@Suite(.onStage, .enabled(if: MemoryScan.canBe, "takes root, whose limit on locked memory is none"))
struct LockedMemoryTests {
  private func lockedKilobytes(_ text: String) -> Int? {
    text.split(separator: "\n").first { $0.hasPrefix("VmLck:") }
      .flatMap { Int($0.split(whereSeparator: \.isWhitespace)[1]) }
  }

  @Test func memoryIsLockedAndChildrensIsNot() throws {
    let stage = try Stage.current()
    let (text, seen) = (stage.newFile("script"), stage.newFile("seen"))
    try Data("#!/bin/sh\ncat /proc/self/status >\(seen)\nexit 77\n".utf8)
      .write(to: URL(filePath: text))
    let script = try stage.executable(text)
    let host = try TestHost { sandbox in
      "[backend corp]\ntype = exec\ncommand = \(script)\n"
        + Configuration.profile("default", endpoint: sandbox.url)
    }
    expect(try host.ask().errorCode != nil)
    let status = try String(contentsOfFile: "/proc/\(host.daemon.pid)/status", encoding: .utf8)
    expect((lockedKilobytes(status) ?? 0) > 1000)
    expect(lockedKilobytes(try String(contentsOfFile: seen, encoding: .utf8)), equals: 0)
    expect(!host.log.contains("swapped"))
  }

  /// The configuration may hold secrets.
  @Test(arguments: [["--check-config"], []])
  func secretsAreProtectedBeforeTheyAreRead(_ options: [String]) throws {
    let start = try UnfinishedStart([Programs.credd], options)
    let credd = start.credd
    expect(credd.status == nil)
    expect((lockedKilobytes(try ProcessFile.text(credd.pid, "status")) ?? 0) > 1000)
    let limits = try ProcessFile.text(credd.pid, "limits").split(separator: "\n")
    let core = limits.first { $0.hasPrefix("Max core file size") }?
      .split(whereSeparator: \.isWhitespace)
    expect(core?.dropFirst(4).prefix(2), equals: ["0", "0"])
    withExtendedLifetime(start) { credd.send(SIGKILL) }
  }

  /// The ways to start credd that read a configuration.
  @Test(
    .enabled(if: Programs.installed("strace") != nil, "takes strace(1)"),
    arguments: [
      ["--check-config"], ["--socket", "SOCKET"], ["--log-level", "debug", "--check-config"],
    ])
  func theProcessIsClosedBeforeItOpensAFileOfTheHosts(_ options: [String]) throws {
    let stage = try Stage.current()
    let (file, trace, socket) = (
      stage.newFile("credd.conf"), stage.newFile("trace"), stage.newFile("s")
    )
    try Data(Configuration.usual(try Sandbox()).utf8).write(to: URL(filePath: file))
    let words = options.map { $0 == "SOCKET" ? socket : $0 }
    let credd = try ChildProcess(
      [
        try #require(Programs.installed("strace")), "-D", "-o", trace, "-e",
        "trace=openat,prctl,prlimit64,mlockall", Programs.credd, "--config", file,
      ] + words)
    try Deadline.usual.wait(for: "the configuration") {
      credd.status != nil || (try? StreamSocket(unixPath: socket)) != nil
    }
    credd.send(SIGTERM)
    try credd.wait()
    let calls = try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n")
    let opened = try #require(calls.firstIndex { $0.contains(file) && $0.hasPrefix("openat") })
    for call in ["PR_SET_DUMPABLE, SUID_DUMP_DISABLE", "RLIMIT_CORE, {rlim_cur=0, rlim_max=0}"] {
      let closed = try #require(calls.firstIndex { $0.contains(call) }, "\(calls)")
      expect(closed < opened, "\(call)")
    }
  }

  @Test func whereItMayNotBeLockedOneNoticeSaysSo() throws {
    let stage = try Stage.current()
    let sandbox = try Sandbox()
    let (folder, file) = (stage.newFile("run"), stage.newFile("credd.conf"))
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    unsafe chmod(folder, 0o777)
    try Data(Configuration.usual(sandbox).utf8).write(to: URL(filePath: file))
    let shell = ["/bin/bash", "-c", "ulimit -l 64; exec \"$@\"", "bash"]
    let daemon = try ChildProcess(
      shell + (try OtherUser.nobody.prefix)
        + [try stage.executable(Programs.credd), "--config", file, "--socket", folder + "/s"])
    try Deadline.usual.wait(for: "credd") { (try? StreamSocket(unixPath: folder + "/s")) != nil }
    expect(daemon.errors.components(separatedBy: "secrets may be swapped out").count, equals: 2)
  }
}
