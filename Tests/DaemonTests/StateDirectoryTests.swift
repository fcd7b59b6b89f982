import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// IdentityIds across a reboot.
@Suite(.onStage)
struct StateDirectoryTests {
  private func folder() throws -> String {
    let folder = try Stage.current().newFile("state")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    return folder
  }

  private func host(
    _ folder: String, sandbox: [String] = [],
    _ configuration: (Sandbox) -> String = { Configuration.usual($0) }
  ) throws -> TestHost {
    try TestHost(
      sandbox: sandbox, environment: ["STATE_DIRECTORY": "\(folder):/nowhere"], configuration)
  }

  private func text(_ folder: String) throws -> String {
    try String(contentsOfFile: folder + "/identities", encoding: .utf8)
  }

  @Test func backendIsToldTheIdentityFromBefore() throws {
    let folder = try folder()
    let host = try host(folder)
    _ = try host.credentials()
    let identity = try #require(try host.identity())
    try host.restart()
    expect(try text(folder).contains(identity))
    expect(try host.identity(), equals: identity)
    expect(try host.state(), equals: "signedOut")
    _ = try host.credentials()
    expect(try host.sandbox.lastBody("token")["IdentityId"]?.text, equals: identity)
  }

  /// In a mount namespace with a list of users of its own. The profile needs no user's name.
  @Test(
    .enabled(
      if: OtherUser.canBe && Programs.installed("unshare") != nil, "takes root and unshare(1)"))
  func aUidThatWasGivenToAnotherPersonStartsAnew() throws {
    let (folder, users) = (try folder(), try Stage.current().newFile("passwd"))
    func name(_ name: String) throws {
      try Data("\(name):x:0:0::/:/bin/sh\n".utf8).write(to: URL(filePath: users))
    }
    try name("alice")
    let host = try TestHost(
      environment: ["STATE_DIRECTORY": folder],
      under: [
        try #require(Programs.installed("unshare")), "-m", "/bin/sh", "-c",
        "mount --bind \(users) /etc/passwd && exec \"$0\" \"$@\"",
      ], managed: true
    ) { Configuration.password($0) }
    expect(try host.logIn("alice")["State"]?.text, equals: "signedIn")
    let first = try host.credentials()
    let identity = try #require(try host.identity())
    try host.restart(by: SIGTERM)
    expect(try host.credentials(), equals: first)
    expect(try text(folder).contains("alice") && text(folder).contains(identity))
    try host.restart(by: SIGTERM) { try name("carol") }
    expect(try host.ask(#"{"wait":0}"#).errorCode, equals: "SignInRequired")
    expect(try host.identity() == nil)
    expect(host.log.contains("a uid belongs to another user now"))
    expect(host.log.contains("former_user=alice"))
    try host.restart(by: SIGTERM)
    expect(try !text(folder).contains(identity))
  }

  @Test func guestIsTheSameGuestAndTakesTheIdentityAlong() throws {
    let folder = try folder()
    let host = try host(folder, sandbox: ["--unauthenticated"]) {
      Configuration.password($0, "guest = yes")
    }
    _ = try host.credentials()
    let identity = try #require(try host.identity())
    try host.restart()
    expect(try host.state(), equals: "guest")
    expect(try host.issued(host.credentials())["IdentityId"]?.text, equals: identity)
    expect(try host.sandbox.calls("cognito.GetId"), equals: 1)
    try host.restart()
    expect(try host.logIn("alice")["IdentityId"]?.text, equals: identity)
    expect(try host.sandbox.lastBody("token")["IdentityId"]?.text, equals: identity)
  }

  @Test(arguments: [#"{"op":"logout"}"#, #"{"op":"clear","what":"identity"}"#])
  func forgottenIdentityLeavesTheFile(_ line: String) throws {
    let folder = try folder()
    let host = try host(folder)
    _ = try host.credentials()
    let identity = try #require(try host.identity())
    try Deadline.usual.wait(for: "the file") {
      (try? text(folder))?.contains(identity) == true
    }
    expect(try host.ask(line)["Error"] == nil)
    try Deadline.usual.wait(for: "the file") { try !text(folder).contains(identity) }
    try host.restart()
    expect(try host.identity() == nil)
  }

  @Test func anotherPoolHasAnotherIdentity() throws {
    let folder = try folder()
    let host = try host(folder)
    _ = try host.credentials()
    try host.restart {
      try host.configure { Configuration.usual($0).replacing("1111-2222", with: "1111-9999") }
    }
    expect(try host.identity() == nil)
  }

  @Test func fileHoldsNoSecretAndIsTheOwnersAlone() throws {
    let folder = try folder()
    let host = try host(folder)
    let credentials = try host.credentials()
    let token = try #require(try host.ask(#"{"op":"token"}"#)["Token"]?.text)
    expect(try host.stopDaemon(), equals: 0)
    for secret in [credentials["SecretAccessKey"]?.text, credentials["SessionToken"]?.text, token] {
      expect(try !text(folder).contains(try #require(secret)))
    }
    var status = stat()
    expect(unsafe stat(folder + "/identities", &status), equals: 0)
    expect(status.st_mode & 0o7777, equals: 0o600)
  }

  @Test(.enabled(if: OtherUser.isRoot, "takes root, to whom credd says more"))
  func folderThatCannotBeWrittenIsSaidAndChangesNothing() throws {
    let folder = try folder()
    // Not even root can write a file there.
    try FileManager.default.createDirectory(
      atPath: folder + "/identities.new", withIntermediateDirectories: true)
    let host = try host(folder)
    _ = try host.credentials()
    var said: String?
    try Deadline.usual.wait(for: "the status") {
      said = try host.ask(#"{"op":"status"}"#)["Daemon"]?["StateDirectory"]?.text
      return said != nil
    }
    expect(said?.contains("Is a directory") == true)
    _ = try host.ask(#"{"op":"clear","what":"identity"}"#)
    _ = try host.credentials()
    expect(try host.stopDaemon(), equals: 0)
    expect(host.log.split(separator: "\n").count { $0.contains("warning") }, equals: 1)
  }

  @Test(
    .enabled(
      if: geteuid() == 0 && Programs.installed("unshare") != nil, "takes root and unshare(1)"))
  func fullDiskIsSaidAndChangesNothing() throws {
    let stage = try Stage.current()
    let sandbox = try Sandbox()
    let (folder, file, path) = (try folder(), stage.newFile("credd.conf"), stage.newFile("s"))
    let configuration =
      Configuration.usual(sandbox)
      + Configuration.profile("next", endpoint: sandbox.url, identifier: "bob")
    try Data(configuration.utf8).write(to: URL(filePath: file))
    // Two pages; the mount is credd's alone.
    let daemon = try ChildProcess(
      [
        try #require(Programs.installed("unshare")), "-m", "/bin/sh", "-c",
        "mount -t tmpfs -o size=8k none '\(folder)' && exec \"$@\"", "sh",
        Programs.credd, "--config", file, "--socket", path,
      ], environment: ["STATE_DIRECTORY": folder])
    try Deadline.usual.wait(for: "credd") { (try? StreamSocket(unixPath: path)) != nil }
    // It is held open: credd's mount goes with credd.
    let inside = unsafe open("/proc/\(daemon.pid)/root\(folder)", O_RDONLY | O_CLOEXEC)
    try #require(inside >= 0)
    defer { close(inside) }
    let place = "/proc/self/fd/\(inside)"
    let socket = try StreamSocket(unixPath: path)
    func ask(_ line: String) throws -> JSON {
      try socket.send(line + "\n")
      return try socket.reply()
    }
    func identity(_ profile: String) throws -> String {
      expect(try ask(#"{"profile":"\#(profile)","wait":120}"#)["AccessKeyId"] != nil)
      let reply = try ask(#"{"op":"identity","profile":"\#(profile)"}"#)
      return try #require(reply["IdentityId"]?.text)
    }
    let first = try identity("default")
    try Deadline.usual.wait(for: "the file") { (try? text(place))?.contains(first) == true }
    let before = try text(place)
    try Data(count: 4096).write(to: URL(filePath: place + "/full"))
    let next = try identity("next")
    try Deadline.usual.wait(for: "the warning") {
      daemon.errors.contains("No space left on device")
    }
    let said = try ask(#"{"op":"status"}"#)["Daemon"]?["StateDirectory"]?.text
    expect(said?.contains("No space left on device") == true)
    expect(try text(place), equals: before)
    // What was kept in memory is written when there is room, at the latest at the end.
    try FileManager.default.removeItem(atPath: place + "/full")
    daemon.send(SIGTERM)
    expect(try daemon.wait(), equals: 0)
    expect(try text(place).contains(first) && text(place).contains(next))
  }
}
