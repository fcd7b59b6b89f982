import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// credctl sends nothing before it knows who listens, and waits a moment for a socket that systemd
/// makes anew.
@Suite(.onStage)
struct ListenerTests {
  /// Listens, and prints what one client sent.
  private static let listening = """
    import os, socket, sys
    s = socket.socket(socket.AF_UNIX)
    s.bind(sys.argv[1])
    os.chmod(sys.argv[1], 0o777)
    s.listen()
    print("listening", flush=True)
    c, _ = s.accept()
    print("got", len(c.makefile("rb").read()), flush=True)
    """

  /// A socket of another user, in a folder that is `credd` in a runtime folder.
  private func strangersSocket() throws -> (runtime: String, path: String, process: ChildProcess) {
    let stage = try Stage.current()
    let runtime = stage.newFile("run")
    try FileManager.default.createDirectory(
      atPath: runtime + "/credd", withIntermediateDirectories: true)
    unsafe chmod(runtime + "/credd", 0o777)
    let path = runtime + "/credd/credd.sock"
    let script = stage.newFile("listen.py")
    try Data(Self.listening.utf8).write(to: URL(filePath: script))
    let process = try ChildProcess(
      OtherUser.games.prefix + ["/usr/bin/python3", script, path])
    try Deadline.usual.wait(for: "the listener") { process.output.contains("listening") }
    return (runtime, path, process)
  }

  @Test(.enabled(if: OtherUser.canBe && PythonScript.canRun, "takes root and python3"))
  func anotherUsersSocketIsSentNothing() throws {
    let (_, path, listener) = try strangersSocket()
    let credctl = try Stage.current().executable(Programs.credctl)
    let outcome = try ChildProcess(OtherUser.daemon.prefix + [credctl, "--socket", path, "get"])
    expect(try outcome.wait(), equals: 77)
    expect(outcome.errors.contains("\(path) belongs to uid 5"))
    expect(outcome.output.isEmpty)
    expect(try listener.wait(), equals: 0)
    expect(listener.output.contains("got 0\n"))
  }

  /// `sudo` may keep the variable of the user that called it.
  @Test(.enabled(if: OtherUser.canBe && PythonScript.canRun, "takes root and python3"))
  func anotherUsersSocketInTheRuntimeFolderIsPassedOver() throws {
    let (runtime, _, listener) = try strangersSocket()
    let outcome = try ChildProcess(
      [Programs.credctl, "ping"], environment: ["XDG_RUNTIME_DIR": runtime])
    expect(try outcome.wait(), equals: 69)
    expect(outcome.errors.contains("no listener at /run/credd/credd.sock"))
    expect(try listener.wait(), equals: 0)
    expect(listener.output.contains("got 0\n"))
  }

  /// In a container without the host's root the kernel does not say who listens.
  @Test(
    .enabled(if: OtherUser.canMakeUserNamespaces, "users may not make user namespaces here"))
  func aSecretGoesToAnUnknownListenerOnlyIfToldSo() throws {
    let host = try TestHost(sandbox: ["--any-user"]) { Configuration.password($0) }
    let unshare = try #require(Programs.installed("unshare"))
    let credctl = try Stage.current().executable(Programs.credctl)
    let inside = try OtherUser.games.prefix + [unshare, "-U"]
    let password = try Stage.current().newFile("password")
    try Data("alice-password\n".utf8).write(to: URL(filePath: password))
    unsafe chmod(password, 0o644)
    func logIn(_ more: String...) throws -> ChildProcess {
      let process = try ChildProcess(
        inside + [
          credctl, "--socket", host.socketPath, "login", "--username", "alice", "--password-stdin",
        ] + more, input: password)
      try process.wait()
      return process
    }
    let refused = try logIn()
    expect(refused.status, equals: 77)
    expect(refused.errors.contains("--trust-socket"))
    expect(try host.sandbox.calls("backend.login"), equals: 0)
    // A request without a secret is sent.
    expect(
      try host.run(inside + [credctl, "--socket", host.socketPath, "ping"]).status, equals: 0)
    expect(try logIn("--trust-socket").status, equals: 0)
    expect(try host.sandbox.calls("backend.login"), equals: 1)
  }
}
