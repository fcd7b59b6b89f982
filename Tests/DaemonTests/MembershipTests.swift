import Foundation
import Glibc
import Testing

/// Memberships that change while connections live.
@Suite(
  .onStage,
  .enabled(
    if: OtherUser.canBe && PythonScript.canRun && Programs.installed("unshare") != nil,
    "takes root, which can be other users, python3, unshare(1)"))
struct MembershipTests {
  /// Asks once a second on one connection until it is refused. Meanwhile one watches and one waits
  /// for a sign-in; both are to hear of it.
  private static let client = """
    import json, socket, sys, time
    def begin(line):
        s = socket.socket(socket.AF_UNIX)
        s.connect(sys.argv[1])
        s.sendall(line + b'\\n')
        return s, s.makefile()
    watching = begin(b'{"op":"watch","profile":"default"}')
    waiting = begin(b'{"profile":"personal","wait":300}')
    s, replies = begin(b'{}')
    while True:
        reply = json.loads(replies.readline())
        print(reply.get("Error", {}).get("Code", "served"), flush=True)
        if "Error" in reply:
            break
        time.sleep(1)
        s.sendall(b'{}\\n')
    for _, replies in watching, waiting:
        reply = {}
        while "Error" not in reply:
            reply = json.loads(replies.readline())
        print(reply["Error"]["Code"], flush=True)
    """

  /// The kernel goes on saying that the process has the group, as it does until a logout.
  @Test
  func aMembershipThatIsWithdrawnEndsOnConnectionsThatLive() throws {
    let stage = try Stage.current()
    let sandbox = try Sandbox(["--any-user"])
    let (file, path) = (stage.newFile("credd.conf"), stage.newFile("s"))
    let text =
      Configuration.http(url: sandbox.url + "/token")
      + Configuration.profile(
        "default", endpoint: sandbox.url, identifier: "{user}", "allow_groups = mail")
        + """
        [backend people]
        type = http
        url = \(sandbox.url)/token
        login_url = \(sandbox.url)/login

        """
      + Configuration.profile(
        "personal", endpoint: sandbox.url, identifier: "{user}", "allow_groups = mail"
      ).replacing("= corp", with: "= people")
    try Data(text.utf8).write(to: URL(filePath: file))
    // A user database of the daemon's own.
    let groups = stage.newFile("group")
    let original = try String(contentsOfFile: "/etc/group", encoding: .utf8)
    let with = original.split(separator: "\n").map {
      $0.hasPrefix("mail:") ? $0 + ($0.hasSuffix(":") ? "games" : ",games") : String($0)
    }
    try Data((with.joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: groups))
    let unshare = try #require(Programs.installed("unshare"))
    let daemon = try ChildProcess([
      unshare, "-m", "/bin/sh", "-c",
      "mount --bind \(groups) /etc/group && exec \(Programs.credd) --config \(file) --socket \(path)",
    ])
    try Deadline.usual.wait(for: "credd") {
      if let status = daemon.status { throw Overdue("credd: it ended with \(status)") }
      return (try? StreamSocket(unixPath: path)) != nil
    }
    let script = try PythonScript(Self.client)
    let member = OtherUser(user: "games", groups: ["games", "mail"])
    let client = try ChildProcess(
      try member.prefix + [try #require(Programs.installed("python3")), script.path, path])
    try Deadline.usual.wait(for: "credentials") { client.output.contains("served") }
    // In place: the mount is of this very file.
    let handle = try FileHandle(forWritingTo: URL(filePath: groups))
    try handle.truncate(atOffset: 0)
    try handle.write(contentsOf: Data(original.utf8))
    try handle.close()
    // A minute, and what a busy machine adds.
    #expect(try client.wait(.in(.seconds(100))) == 0)
    #expect(client.output.hasSuffix("served\nAccessDenied\nAccessDenied\nAccessDenied\n"))
    #expect(client.output.components(separatedBy: "served").count <= 80)
  }
}
