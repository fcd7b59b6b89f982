import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// Sockets with a cap, of systemd and of credd's own, with the real programs.
@Suite(.onStage)
struct CappedSocketTests {
  private static let denied = "credd serves nothing at this socket: its journal says why"

  /// Two profiles, and a section for the path.
  private func text(
    _ sandbox: Sandbox, _ path: String?, keys: String = "profiles = narrow", daemon: String = ""
  ) -> String {
    Configuration.usual(sandbox, daemon: daemon)
      + Configuration.profile("narrow", endpoint: sandbox.url, identifier: "bob")
      + (path.map { "[socket \($0)]\n\(keys)\n" } ?? "")
  }

  private func passed(_ path: String, as name: String = "capped") -> [ServiceManager.Passed] {
    [ServiceManager.Passed(name: name, path: path)]
  }

  private func isClosed(_ host: TestHost, at path: String) throws {
    let socket = try StreamSocket(unixPath: path)
    expect(try socket.reply().errorMessage, equals: Self.denied)
    expect(socket.isClosed())
  }

  private func credctl(_ path: String, _ arguments: String...) throws -> TestHost.Outcome {
    let process = try ChildProcess(
      [Programs.credctl] + arguments, environment: ["CREDD_SOCKET": path, "CREDD_PROFILE": ""])
    let status = try process.wait()
    return TestHost.Outcome(status: status, output: process.output, errors: process.errors)
  }

  // MARK: Passed by systemd

  @Test
  func aPassedSocketHasItsProfilesAlone() throws {
    let path = try TestHost.newSocketPath()
    let host = try TestHost(managed: true, passed: passed(path)) { text($0, path) }
    let narrow = try host.answer { try host.ask("{}", at: path) }
    expect(try host.issued(narrow)["IdentityId"] != nil)
    expect(
      try host.ask(#"{"profile":"narrow"}"#)["AccessKeyId"]?.text,
      equals: narrow["AccessKeyId"]?.text)
    let wide = try host.ask()
    expect(wide["AccessKeyId"]?.text != narrow["AccessKeyId"]?.text)
    let there = try host.ask(#"{"profile":"default"}"#, at: path)
    let nowhere = try host.ask(#"{"profile":"nowhere"}"#, at: path)
    expect(there.errorCode, equals: "AccessDenied")
    expect(
      there.errorMessage?.replacing("default", with: "nowhere"), equals: nowhere.errorMessage)
    for line in [#"{"op":"status","all":true}"#, #"{"op":"login"}"#, #"{"op":"watch"}"#] {
      expect(try host.ask(line, at: path).errorCode, equals: "AccessDenied")
    }
    // The main socket's status names it.
    let listeners = try host.ask(#"{"op":"status"}"#)["Daemon"]?["Listeners"]
    expect(
      listeners?.elements.map { "\($0["Kind"]?.text ?? "") \($0["Address"]?.text ?? "")" },
      equals: ["socket \(host.socketPath)", "capped \(path)"])
    expect(try host.stopDaemon(), equals: 0)
    expect(TestHost.mode(path) != nil)
  }

  @Test
  func credctlWorksOverIt() throws {
    let path = try TestHost.newSocketPath()
    let host = try TestHost(managed: true, passed: passed(path)) { text($0, path) }
    let key = try #require(host.answer { try host.ask("{}", at: path) }["AccessKeyId"]?.text)
    for arguments in [["get"], ["get", "narrow"], ["get", "--profile", "narrow"]] {
      let process = try ChildProcess(
        [Programs.credctl, "--socket", path] + arguments, environment: ["CREDD_PROFILE": ""])
      expect(try process.wait(), equals: 0, "\(process.errors)")
      expect(process.output.contains(key))
    }
    expect(try credctl(path, "env", "--min-ttl", "1").output.contains(key))
    let run = try credctl(path, "exec", "--min-ttl", "1", "--", "/usr/bin/env")
    expect(run.status == 0 && run.output.contains("AWS_ACCESS_KEY_ID=\(key)"), "\(run.errors)")
    expect(try credctl(path, "ping").status, equals: 0)
    let profiles = try credctl(path, "profiles")
    expect(profiles.status == 0 && profiles.output.contains("narrow"), "\(profiles)")
    expect(!profiles.output.contains("default"))
    expect(try credctl(path, "identity").output.contains("narrow"))
    for arguments in [["get", "default"], ["get", "nowhere"], ["status"], ["logout"]] {
      let refused = try host.run([Programs.credctl, "--socket", path] + arguments)
      expect(refused.status == 77 && refused.output.isEmpty, "\(arguments): \(refused)")
    }
  }

  /// A typo in the path of the section, or of the socket unit.
  @Test
  func aPassedSocketWithoutASectionServesNobody() throws {
    let (path, other) = (try TestHost.newSocketPath(), try TestHost.newSocketPath())
    let host = try TestHost(managed: true, passed: passed(path)) { text($0, other + "s") }
    try isClosed(host, at: path)
    expect(try host.ask()["AccessKeyId"] != nil)
    let told = host.log.split(separator: "\n").filter { $0.contains("error") }
    expect(told.contains { $0.contains(path) && $0.contains(other + "s") }, "\(host.log)")
    let status = try host.credctl("status")
    expect(status.output.contains("the socket \(path): it refuses everybody: "), "\(status.output)")
    let refused = try credctl(path, "get")
    expect(refused.status == 77 && refused.errors.contains(Self.denied), "\(refused)")
  }

  @Test
  func aSocketOfAnotherNameAtASectionsPathServesNobody() throws {
    let path = try TestHost.newSocketPath()
    let host = try TestHost(managed: true, passed: passed(path, as: "agents.socket")) {
      text($0, path)
    }
    try isClosed(host, at: path)
    expect(try host.ask()["AccessKeyId"] != nil)
    expect(host.log.contains("needs FileDescriptorName=capped"))
  }

  @Test
  func withoutAUsableConfigurationItServesNobody() throws {
    let (path, named) = (try TestHost.newSocketPath(), try TestHost.newSocketPath())
    let sandbox = try Sandbox()
    let manager = try ServiceManager(
      listeningOn: [try Stage.current().newFile("s")],
      passed(path) + passed(named, as: "agents.socket"))
    let file = try Stage.current().newFile("credd.conf")
    let wrong = text(sandbox, path) + "[socket \(named)]\nprofiles = narrow\n[nonsense]\n"
    try Data(wrong.utf8).write(to: URL(filePath: file))
    let sockets = try [path, named].map { try StreamSocket(unixPath: $0) }
    let daemon = try manager.start([Programs.credd, "--config", file], [:])
    for socket in sockets {
      expect(try socket.reply().errorMessage, equals: Self.denied)
      expect(socket.isClosed())
    }
    expect(try daemon.wait(), equals: EX_CONFIG)
    for path in [path, named] {
      expect(daemon.errors.contains("the socket \(path): it refuses everybody"), "\(daemon.errors)")
    }
  }

  @Test
  func aReloadThatTakesTheSectionAwayClosesIt() throws {
    let path = try TestHost.newSocketPath()
    let host = try TestHost(managed: true, passed: passed(path)) { text($0, path) }
    let open = try StreamSocket(unixPath: path)
    try open.send("{\"wait\":60}\n")
    expect(try open.reply()["AccessKeyId"] != nil)
    try host.configure { text($0, nil) }
    try host.reload()
    try open.send("{}\n")
    expect(try open.reply().errorMessage, equals: Self.denied)
    expect(open.isClosed())
    try isClosed(host, at: path)
    // A configuration that cannot be used changes nothing, and it comes back with its section.
    try host.configure { text($0, path) + "[nonsense]\n" }
    try host.reload(until: "the new configuration is not used")
    try isClosed(host, at: path)
    try host.configure { text($0, path) }
    try host.reload()
    expect(try host.ask("{}", at: path)["AccessKeyId"] != nil)
  }

  /// The next daemon serves it too: nothing was lost.
  @Test
  func aRestartKeepsItsSessions() throws {
    let path = try TestHost.newSocketPath()
    let host = try TestHost(managed: true, passed: passed(path)) { text($0, path) }
    let key = try host.answer { try host.ask("{}", at: path) }["AccessKeyId"]?.text
    try host.restart()
    expect(try host.ask("{}", at: path)["AccessKeyId"]?.text, equals: key)
  }

  // MARK: Bound by credd

  @Test
  func aSocketThatNobodyPassesIsBoundAndRemoved() throws {
    let path = try TestHost.newSocketPath()
    let host = try TestHost { text($0, path) }
    // The path is there a moment before credd listens.
    try Deadline.usual.wait(for: "the socket") {
      TestHost.mode(path) != nil && (try? host.ask("{}", at: path)) != nil
    }
    expect(TestHost.mode(path), equals: geteuid() == 0 ? 0o666 : 0o600)
    expect(try host.answer { try host.ask("{}", at: path) }["AccessKeyId"] != nil)
    expect(
      try host.ask(#"{"profile":"default"}"#, at: path).errorCode, equals: "AccessDenied")
    expect(try host.stopDaemon(), equals: 0)
    expect(TestHost.mode(path) == nil && TestHost.mode(host.socketPath) == nil)
  }

  @Test
  func aReloadBindsAndClosesOne() throws {
    let path = try TestHost.newSocketPath()
    let host = try TestHost { text($0, nil) }
    try host.configure { text($0, path) }
    try host.reload()
    // Its name is there a moment before credd listens.
    try Deadline.usual.wait(for: "the socket") { (try? StreamSocket(unixPath: path)) != nil }
    expect(try host.answer { try host.ask("{}", at: path) }["AccessKeyId"] != nil)
    try host.configure { text($0, nil) }
    try host.reload()
    try isClosed(host, at: path)
    expect(try host.stopDaemon(), equals: 0)
    expect(TestHost.mode(path) == nil)
  }

  @Test
  func oneThatCannotBeBoundStandsInStatusAndTheRestGoesOn() throws {
    let folder = try Stage.current().newFile("nothing")
    let path = folder + "/sock"
    let host = try TestHost { text($0, path) }
    expect(try host.ask()["AccessKeyId"] != nil)
    let status = try host.credctl("status").output
    expect(status.contains("the socket \(path): cannot listen on \(path): "), "\(status)")
    let told = host.log.split(separator: "\n").first { $0.contains("cannot listen on \(path)") }
    expect(told?.contains("\(host.configurationPath):") == true, "\(host.log)")
    // It is tried again at the next reload.
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try host.reload()
    // Its name is there a moment before credd listens.
    try Deadline.usual.wait(for: "the socket") { (try? StreamSocket(unixPath: path)) != nil }
    expect(try !host.credctl("status").output.contains("cannot listen"))
  }

  /// Another daemon listens there, or a file is there that is no socket.
  @Test
  func whatIsThereAlreadyIsLeftAlone() throws {
    let (live, file) = (try TestHost.newSocketPath(), try TestHost.newSocketPath())
    let first = try TestHost { text($0, live) }
    try Data("mine".utf8).write(to: URL(filePath: file))
    let host = try TestHost {
      text($0, live) + "[socket \(file)]\nprofiles = narrow\n"
    }
    expect(try host.ask()["AccessKeyId"] != nil)
    for path in [live, file] {
      expect(host.log.contains("cannot listen on \(path)"), "\(host.log)")
    }
    expect(try host.stopDaemon(), equals: 0)
    expect(try String(contentsOfFile: file, encoding: .utf8), equals: "mine")
    expect(try first.answer { try first.ask("{}", at: live) }["AccessKeyId"] != nil)
  }

  // MARK: Configuration

  private func refusal(_ text: (Sandbox) -> String, _ more: String...) throws -> String {
    let file = try Stage.current().newFile("credd.conf")
    try Data(text(try Sandbox()).utf8).write(to: URL(filePath: file))
    let credd = try ChildProcess([Programs.credd, "--config", file] + more)
    expect(try credd.wait(), equals: EX_CONFIG, "\(credd.errors)")
    return credd.errors
  }

  @Test
  func aCheckNamesEachMistake() throws {
    let path = try TestHost.newSocketPath()
    let own = path.replacing("/sock", with: "/credd.sock")
    for (socket, tokens, words) in [
      (own, "/run/t/t", "credd's own socket \(own)"), ("/run/c/c", own, "the socket of tokens"),
      (path, "/run/t/t", "credd's own socket \(path)"),
    ] {
      let errors = try refusal(
        { text($0, path) }, "--check-config", "--socket", socket, "--token-socket", tokens)
      expect(errors.contains("[socket \(path)]: \(words)"), "\(errors)")
    }
    try Data().write(to: URL(filePath: path))
    expect(try refusal({ text($0, path) }, "--check-config").contains("this is no socket"))
    let errors = try refusal(
      { text($0, "run/sock", keys: "profiles = narow") }, "--check-config")
    expect(errors.contains("the path is not absolute"), "\(errors)")
    expect(errors.contains("there is no [profile narow]; did you mean 'narrow'?"), "\(errors)")
  }

  @Test
  func aDaemonThatEndsOnIdleBindsNone() throws {
    let path = try TestHost.newSocketPath()
    let own = try Stage.current().newFile("s")
    let errors = try refusal(
      { text($0, path, daemon: "exit_on_idle = 1h") }, "--socket", own)
    expect(errors.contains("exit_on_idle: systemd does not pass [socket \(path)]"), "\(errors)")
    expect(TestHost.mode(path) == nil)
    // Where systemd passes it, it is as good as the other one.
    let host = try TestHost(managed: true, passed: passed(path)) {
      text($0, path, daemon: "exit_on_idle = 1h")
    }
    expect(try host.answer { try host.ask("{}", at: path) }["AccessKeyId"] != nil)
  }

  /// The socket's own path, or one in its folder.
  @Test
  func atTheDaemonsOwnPlaceItDoesNotStart() throws {
    let own = try TestHost.newSocketPath()
    for path in [own, own + "2"] {
      let errors = try refusal({ text($0, path) }, "--socket", own)
      expect(errors.contains("is in the same folder"), "\(errors)")
    }
    let host = try TestHost { text($0, nil) }
    try host.configure { text($0, host.socketPath) }
    try host.reload(until: "the new configuration is not used")
    expect(try host.ask()["AccessKeyId"] != nil)
  }
}
