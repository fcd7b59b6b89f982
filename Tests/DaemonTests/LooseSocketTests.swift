import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// A socket that all users can reach, in every way there is: each gets its own session or a
/// refusal, as ssh-agent's own tests ask of it.
@Suite(
  .onStage,
  .enabled(
    if: OtherUser.canBe && PythonScript.canRun, "takes root, which can be other users, and python3")
)
struct LooseSocketTests {
  /// Asks for credentials through each path it is given.
  private static let ask = """
    import json, socket, sys
    for path in sys.argv[1:]:
        s = socket.socket(socket.AF_UNIX)
        s.connect(path)
        s.sendall(b'{}\\n')
        reply = json.loads(s.makefile().readline())
        print(reply.get("AccessKeyId") or reply["Error"]["Code"])
    """

  private func host(_ keys: String = "") throws -> TestHost {
    let host = try TestHost(sandbox: ["--any-user"]) { sandbox in
      Configuration.http(url: sandbox.url + "/token")
        + Configuration.profile("default", endpoint: sandbox.url, identifier: "{user}", keys)
    }
    unsafe chmod(host.socketPath, 0o777)
    return host
  }

  /// The keys of root, games and daemon, asked for plainly.
  private func keys(_ host: TestHost) throws -> (root: String, games: String, daemon: String) {
    let script = try PythonScript(Self.ask)
    let root = try #require(try host.ask()["AccessKeyId"]?.text)
    let games = try #require(try script.lines(host, as: .games).first)
    let daemon = try #require(try script.lines(host, as: .daemon).first)
    expect(Set([root, games, daemon]).count, equals: 3)
    return (root, games, daemon)
  }

  @Test
  func aLooseModeShowsNoUserAnothersSession() throws {
    let host = try host()
    let keys = try keys(host)
    let script = try PythonScript(Self.ask)
    expect(try script.lines(host, as: .games), equals: [keys.games])
    expect(try script.lines(host, as: .daemon), equals: [keys.daemon])
    expect(try script.lines(host), equals: [keys.root])
  }

  @Test
  func aLooseModeAdmitsNoUserThatAProfileDoesNot() throws {
    let host = try host("allow_users = games")
    let script = try PythonScript(Self.ask)
    expect(try script.lines(host, as: .daemon), equals: ["AccessDenied"])
    expect(try script.lines(host), equals: ["AccessDenied"])
    expect(try script.lines(host, as: .games).first?.hasPrefix("ASIA") ?? false)
    expect(try host.sandbox.callbacks, equals: 1)
  }

  /// Links, and the file system of another process.
  @Test
  func otherWaysToTheSocketLeadToTheSame() throws {
    let host = try host()
    let keys = try keys(host)
    let (soft, hard) = (host.socketPath + ".l", host.socketPath + ".h")
    expect(unsafe symlink(host.socketPath, soft), equals: 0)
    expect(unsafe link(host.socketPath, hard), equals: 0)
    let script = try PythonScript(Self.ask)
    expect(
      try script.lines(host, as: .games, [soft, hard, "/proc/self/root" + host.socketPath]),
      equals: Array(repeating: keys.games, count: 4))
  }

  @Test(.enabled(if: Programs.installed("unshare") != nil, "takes unshare(1)"))
  func throughABindMountEachCallerIsItsOwnUser() throws {
    let host = try host()
    let keys = try keys(host)
    let place = try Stage.current().newFile("mounted")
    try Data().write(to: URL(filePath: place))
    let script = try PythonScript(Self.ask)
    let unshare = try #require(Programs.installed("unshare"))
    let setpriv = try OtherUser.games.prefix.joined(separator: " ")
    let outcome = try host.run([
      unshare, "-m", "/bin/sh", "-c",
      "mount --bind \(host.socketPath) \(place) && exec \(setpriv) "
        + "\(Programs.installed("python3") ?? "") \(script.path) \(place)",
    ])
    expect(outcome.output, equals: keys.games + "\n", "\(outcome.errors)")
  }

  @Test(.enabled(if: OtherUser.canMakeUserNamespaces, "users may not make user namespaces here"))
  func throughAUserNamespaceEachCallerIsItsOwnUser() throws {
    let host = try host()
    let keys = try keys(host)
    let unshare = try #require(Programs.installed("unshare"))
    let script = try PythonScript(Self.ask)
    for option in ["-U", "-Ur", "-Urm", "-Urp"] {
      let words = option == "-Urp" ? [unshare, option, "--fork"] : [unshare, option]
      expect(try script.lines(host, as: .games, through: words), equals: [keys.games], "\(option)")
    }
  }

  /// Credentials of a connection are those of the user that connected, whatever becomes of the
  /// process.
  @Test
  func afterASetuidNewConnectionsAreTheNewUsers() throws {
    let host = try host()
    let keys = try keys(host)
    let script = try PythonScript(
      """
      import json, os, socket, sys
      def connected():
          s = socket.socket(socket.AF_UNIX)
          s.connect(sys.argv[1])
          return s
      def key(s):
          s.sendall(b'{}\\n')
          return json.loads(s.makefile().readline())["AccessKeyId"]
      before = connected()
      os.setgroups([])
      os.setresgid(60, 60, 60)
      os.setresuid(5, 5, 5)
      after = connected()
      print(key(after))
      print(key(before))
      print(key(after))
      """)
    expect(try script.lines(host), equals: [keys.games, keys.root, keys.games])
  }

  /// A connection that is passed on stays what it was: never another user's.
  @Test
  func anInheritedDescriptorIsOfTheUserThatConnected() throws {
    let host = try host()
    let keys = try keys(host)
    let script = try PythonScript(
      """
      import json, os, socket, sys
      def key(s):
          s.sendall(b'{}\\n')
          return json.loads(s.makefile().readline())["AccessKeyId"]
      def connected():
          s = socket.socket(socket.AF_UNIX)
          s.connect(sys.argv[1])
          return s
      def become(uid, gid):
          os.setgroups([]); os.setresgid(gid, gid, gid); os.setresuid(uid, uid, uid)
      ours, theirs = socket.socketpair()
      if os.fork() == 0:
          become(5, 60)
          given = connected()
          socket.send_fds(theirs, [b'x'], [given.fileno()])
          os._exit(0)
      _, fds, _, _ = socket.recv_fds(ours, 1, 1)
      os.wait()
      become(1, 1)
      print(key(socket.socket(fileno=fds[0])))
      print(key(connected()))
      """)
    // The first was that of games, whose process passed it on and ended.
    expect(try script.lines(host), equals: [keys.games, keys.daemon])
  }
}
