import Foundation
import Glibc
import Testing
import TestSupport

@testable import DaemonHarness

/// What the kernel is asked for before anything is read: no core dump, no other process that looks.
@Suite(.onStage, .enabled(if: OtherUser.canBe, "takes root, which can be other users"))
struct HardeningTests {
  /// Files in /proc of a process that may be dumped or traced are its user's, else root's (proc(5)).
  private func ownerOfMemory(_ process: ChildProcess) -> uid_t? {
    var status = stat()
    return unsafe stat("/proc/\(process.pid)/mem", &status) == 0 ? status.st_uid : nil
  }

  private func expectClosed(_ process: ChildProcess, to user: OtherUser) throws {
    expect(process.status == nil)
    expect(ownerOfMemory(process), equals: 0)
    let limits = try ProcessFile.text(process.pid, "limits").split(separator: "\n")
    let core = limits.first { $0.hasPrefix("Max core file size") }?
      .split(whereSeparator: \.isWhitespace)
    expect(core?[4], equals: "0")
    // It is that user's, of whose processes the kernel tells.
    let uid = unsafe getpwnam(user.user)?.pointee.pw_uid ?? 0
    expect(uid != 0)
    let status = try ProcessFile.text(process.pid, "status").split(separator: "\n")
    expect(status.contains { $0.hasPrefix("Uid:\t\(uid)\t") })
  }

  @Test(arguments: [["--check-config"], []])
  func daemonIsClosedToItsUserWhenItHasReadTheConfiguration(_ options: [String]) throws {
    let program = try Stage.current().executable(Programs.credd)
    let start = try UnfinishedStart(OtherUser.nobody.prefix + [program], options)
    try expectClosed(start.credd, to: .nobody)
    withExtendedLifetime(start) { start.credd.send(SIGKILL) }
  }

  @Test(.enabled(if: PythonScript.canRun, "takes python3"))
  func clientIsClosedToItsUserWhileItWaits() throws {
    let host = try TestHost()
    let (deaf, ready) = (try Stage.current().newFile("deaf"), try Stage.current().newFile("ready"))
    let listener = try PythonScript(
      """
      import os, socket, sys, time
      s = socket.socket(socket.AF_UNIX)
      s.bind(sys.argv[2])
      os.chmod(sys.argv[2], 0o666)
      s.listen()
      connection, _ = s.accept()
      connection.recv(1)
      open(sys.argv[3], "w").close()
      time.sleep(60)
      """
    ).start(host, [deaf, ready])
    try Deadline.usual.wait(for: "the listener") {
      FileManager.default.fileExists(atPath: deaf) && access(deaf) == 0o666
    }
    let credctl = try ChildProcess(
      OtherUser.nobody.prefix
        + [
          try Stage.current().executable(Programs.credctl), "--socket", deaf, "ping", "--timeout",
          "30",
        ])
    try Deadline.usual.wait(for: "its request") {
      if let status = credctl.status { throw Overdue("it: \(status) \(credctl.errors)") }
      return FileManager.default.fileExists(atPath: ready)
    }
    try expectClosed(credctl, to: .nobody)
    withExtendedLifetime(listener) {}
  }

  private func access(_ path: String) -> mode_t? {
    var status = stat()
    return unsafe stat(path, &status) == 0 ? status.st_mode & 0o777 : nil
  }

  /// A kernel that refuses prctl(2).
  @Test(.enabled(if: PythonScript.canRun, "takes python3"))
  func daemonDoesNotStartWhereItCannotBeClosed() throws {
    let stage = try Stage.current()
    let (path, file) = (stage.newFile("without.py"), stage.newFile("credd.conf"))
    let text = """
      import ctypes, os, platform, struct, sys
      libc = ctypes.CDLL(None, use_errno=True)
      number = {"x86_64": 157, "aarch64": 167}[platform.machine()]
      def step(code, jt, jf, k): return struct.pack("HBBI", code, jt, jf, k)
      # Loads the call's number; prctl gets EPERM, all others pass.
      code = (step(0x20, 0, 0, 0) + step(0x15, 0, 1, number)
              + step(0x06, 0, 0, 0x50001) + step(0x06, 0, 0, 0x7fff0000))
      steps = ctypes.create_string_buffer(code)
      program = struct.pack("HxxxxxxP", 4, ctypes.addressof(steps))
      assert libc.prctl(38, 1, 0, 0, 0) == 0
      assert libc.prctl(22, 2, program, 0, 0) == 0
      os.execv(sys.argv[1], sys.argv[1:])
      """
    try Data(text.utf8).write(to: URL(filePath: path))
    try Data(Configuration.usual(try Sandbox()).utf8).write(to: URL(filePath: file))
    let python = try #require(Programs.installed("python3"))
    for options in [["--socket", stage.newFile("s")], ["--check-config"]] {
      let credd = try ChildProcess([python, path, Programs.credd, "--config", file] + options)
      expect(try credd.wait(), equals: EX_OSERR, "\(credd.errors)")
      expect(
        credd.errors.contains("cannot protect its secrets: forbid core dumps"), "\(credd.errors)")
    }
  }
}
