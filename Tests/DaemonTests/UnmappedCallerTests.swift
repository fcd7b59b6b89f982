import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// Callers from user namespaces.
@Suite(.onStage, .enabled(if: OtherUser.canBe, "takes root, which can be other users"))
struct UnmappedCallerTests {
  private func host(_ keys: String = "") throws -> TestHost {
    try TestHost(sandbox: ["--any-user"]) { sandbox in
      Configuration.http(url: sandbox.url + "/token")
        + Configuration.profile("default", endpoint: sandbox.url, identifier: "u{uid}", keys)
    }
  }

  @Test
  func theOverflowUidIsNobodyUnlessItIsNamed() throws {
    let host = try host()
    let credctl = try Stage.current().executable(Programs.credctl)
    let refused = try host.credctl(credctl, as: .nobody, "get")
    expect(refused.status, equals: 77)
    expect(refused.errors.contains("'default' is not available to uid 65534"))
    expect(
      try host.credctl(credctl, as: .nobody, "get", "--profile", "other").errors,
      equals: refused.errors.replacing("'default'", with: "'other'"))
    expect(try host.sandbox.callbacks, equals: 0)
    expect(host.log.contains("the kernel has no uid for it on this host"))
    let named = try self.host("allow_users = nobody")
    expect(try named.credctl(credctl, as: .nobody, "get").status, equals: 0)
    let numbered = try self.host("allow_users = 65534")
    expect(try numbered.credctl(credctl, as: .nobody, "get").status, equals: 0)
  }

  @Test(.enabled(if: OtherUser.canMakeUserNamespaces, "users may not make user namespaces here"))
  func rootOfAUserNamespaceIsTheUserThatMadeIt() throws {
    let host = try host()
    let unshare = try #require(Programs.installed("unshare"))
    let credctl = try Stage.current().executable(Programs.credctl)
    let own = try host.credctl(credctl, as: .games, "get")
    expect(own.status, equals: 0)
    for option in ["-U", "-Ur"] {
      let inside = try host.run(
        OtherUser.games.prefix + [unshare, option, credctl, "--socket", host.socketPath, "get"])
      expect(inside, equals: own, "\(option)")
      let status = try host.run(
        OtherUser.games.prefix
          + [unshare, option, credctl, "--socket", host.socketPath, "status", "--all"])
      expect(status.status, equals: 77, "\(option)")
    }
  }

  /// credd in a container that maps root alone: every other user of its socket is unmapped.
  @Test(.enabled(if: OtherUser.canMakeUserNamespaces, "users may not make user namespaces here"))
  func strangersToTheDaemonsNamespaceShareNoSession() throws {
    let stage = try Stage.current()
    let sandbox = try Sandbox(["--any-user"])
    let (file, path) = (stage.newFile("credd.conf"), stage.newFile("s"))
    let text =
      Configuration.http(url: sandbox.url + "/token")
      + Configuration.profile("default", endpoint: sandbox.url, identifier: "u{uid}")
    try Data(text.utf8).write(to: URL(filePath: file))
    let unshare = try #require(Programs.installed("unshare"))
    let daemon = try ChildProcess([
      unshare, "--user", "--map-root-user", Programs.credd, "--config", file, "--socket", path,
    ])
    try Deadline.usual.wait(for: "credd") {
      if let status = daemon.status {
        throw Overdue("credd: it ended with \(status): \(daemon.errors)")
      }
      return (try? StreamSocket(unixPath: path)) != nil
    }
    unsafe chmod(path, 0o777)
    let credctl = try stage.executable(Programs.credctl)
    for user in [OtherUser.games, .daemon] {
      let arguments = try user.prefix + [credctl, "--socket", path, "get"]
      let refused = try ChildProcess(arguments)
      expect(try refused.wait(), equals: 77)
      expect(refused.output.isEmpty)
      // The daemon's refusal, not credctl's own of a listener that it does not know.
      expect(refused.errors.contains("is not available to uid 65534"), "\(refused.errors)")
    }
    expect(daemon.errors.contains("the kernel has no uid for it"), "\(daemon.errors)")
    let socket = try StreamSocket(unixPath: path)
    try socket.send("{}\n")
    expect(try socket.reply()["AccessKeyId"] != nil)
    expect(try sandbox.callbacks, equals: 1)
  }
}
