import Foundation
import Glibc
import Testing
import TestSupport

@testable import DaemonHarness

/// What no user may see.
@Suite(.onStage)
struct SecrecyTests {
  /// What is looked through here and in the suites beside this one is what users install.
  @Test(.enabled(if: Programs.shipped != nil, "CREDD_SHIPPED_DIR is not set"))
  func programsThatAreLookedThroughAreTheStrippedOnes() throws {
    let readelf = try #require(Programs.installed("readelf"))
    for program in [Programs.credd, Programs.credctl] {
      expect(program.hasPrefix(Programs.shipped ?? "none"))
      let sections = try ChildProcess([readelf, "--section-headers", "--wide", program])
      expect(try sections.wait(), equals: 0)
      expect(sections.output.contains(" .text "))
      expect(!sections.output.contains(" .symtab ") && !sections.output.contains(" .debug_info "))
    }
  }

  @Test
  func logOfAWholeLifeHoldsNoSecret() throws {
    let file = try Stage.current().newFile("bearer")
    let bearer = "Tk7bearer0of9the8host1"
    try Data(bearer.utf8).write(to: URL(filePath: file))
    let host = try TestHost(sandbox: ["--backend-token", bearer]) {
      Configuration.usual($0, backend: "bearer_token_file = \(file)")
    }
    let watcher = try host.watch()
    var secrets = [bearer]
    func note(_ reply: JSON, _ keys: String...) throws {
      for key in keys { secrets.append(try #require(reply[key]?.text, "\(reply)")) }
    }
    try note(try host.ask(#"{"op":"token"}"#), "Token")
    try note(try host.ask(), "SecretAccessKey", "SessionToken")
    try note(try host.ask(#"{"refresh":true}"#), "SecretAccessKey", "SessionToken")
    // The one that the next exchanges send: `refresh` asked for a new one.
    try note(try host.ask(#"{"op":"token"}"#), "Token")
    let token = try #require(secrets.last)
    // Upstreams that repeat what they were told, in every kind of answer.
    var answers: [String] = []
    for fault in [
      #""cognito","Kind":"status","Error":"InvalidParameterException","Message":"bad \#(token)""#,
      #""cognito","Kind":"malformed","Body":"{\"Credentials\":\"\#(token)\"""#,
      #""cognito","Kind":"html","Body":"<html>\#(token)</html>""#,
    ] {
      try host.sandbox.plan(#"{"Service":"# + fault + "}")
      try Deadline.usual.wait(for: "the fault") {
        let exchanges = try host.sandbox.exchanges
        answers.append("\(try host.ask(#"{"min_ttl":3600,"wait":1}"#).errorMessage ?? "")")
        return try host.sandbox.exchanges > exchanges
      }
    }
    try host.sandbox.control("POST", "revoke", #"{"User":"alice"}"#)
    try host.sandbox.plan(
      #"{"Service":"backend","Kind":"status","Status":401,"Body":"not \#(bearer) of \#(token)"}"#)
    try Deadline.usual.wait(for: "the host to be refused") {
      answers.append(try host.get("--refresh", "--wait", "1").errors)
      return answers.last?.contains("does not accept this host") ?? false
    }
    answers.append(try host.credctl("status", "--json").output)
    expect(try host.stopDaemon(), equals: 0)
    expect(host.log.contains("credentials refreshed"))
    let events = String(decoding: try watcher.rest(), as: UTF8.self)
    for event in ["state", "refreshed", "degraded"] {
      expect(events.contains(#""Event":"\#(event)""#), "\(events)")
    }
    for secret in secrets {
      for text in answers + [host.log, events] { expect(!isTold(secret, in: text), "\(text)") }
    }
  }

  /// A key in a header is a secret, whatever it looks like.
  @Test
  func whatABackendRepeatsOfHeadersIsHidden() throws {
    let host = try TestHost {
      Configuration.usual(
        $0, backend: "header.X-Api-Key = pass-phrase\nheader.X-Auth = Basic correct-horse")
    }
    try host.sandbox.plan(
      #"{"Service":"backend","Kind":"status","Status":403,"Count":-1,"#
        + #""Body":"{\"message\":\"no pass-phrase with correct-horse here\"}"}"#)
    let refused = try host.refusal("{}")
    expect(refused.errorCode, equals: "BackendRejected")
    expect(refused.errorMessage?.contains("no … with … here") == true, "\(refused)")
    let status = try host.credctl("status", "--json").output
    for secret in ["pass-phrase", "correct-horse"] {
      expect(!host.log.contains(secret))
      expect(!status.contains(secret))
    }
  }

  @Test
  func whatACommandRepeatsOfItsEnvironmentIsHidden() throws {
    let stage = try Stage.current()
    let text = stage.newFile("token")
    try Data("#!/bin/sh\necho \"cannot bind with $LDAP_PASSWORD\" >&2\nexit 77\n".utf8)
      .write(to: URL(filePath: text))
    let script = try stage.executable(text)
    let host = try TestHost { sandbox in
      "[backend corp]\ntype = exec\ncommand = \(script)\nenvironment.LDAP_PASSWORD = pass-phrase\n"
        + Configuration.profile("default", endpoint: sandbox.url)
    }
    let refused = try host.refusal("{}")
    expect(refused.errorMessage?.contains("cannot bind with …") == true, "\(refused)")
    expect(!host.log.contains("pass-phrase"))
  }

  /// Whether a text has a part of a secret in it, as long as ``MemoryScan/tooMany``.
  private func isTold(_ secret: String, in text: String) -> Bool {
    let bytes = Array(secret.utf8)
    let text = Data(text.utf8)
    return (0...(bytes.count - MemoryScan.tooMany)).contains {
      text.range(of: Data(bytes[$0..<$0 + MemoryScan.tooMany])) != nil
    }
  }

  /// What a sign-in sent, said again by those it was sent to.
  @Test
  func whatUpstreamRepeatsOfASignInIsNotPassedOn() throws {
    let host = try TestHost { Configuration.password($0) + Configuration.direct($0, "direct") }
    let (password, token) = (newSecret(), try host.sandbox.token(of: "accounts.google.com", "g1"))
    try host.sandbox.plan(
      #"{"Service":"backend","Operation":"login","Kind":"status","Status":401,"#
        + #""Body":"{\"message\":\"not \#(password)\"}"}"#)
    try host.sandbox.plan(
      #"{"Service":"cognito","Kind":"status","Status":400,"Error":"NotAuthorizedException","#
        + #""Message":"not \#(token)","Count":-1}"#)
    let file = try Stage.current().newFile("token")
    try Data(token.utf8).write(to: URL(filePath: file))
    let outcomes = [
      try host.credctl(input: password, "login", "--username", "alice", "--password-stdin"),
      try host.credctl("login", "-p", "direct", "--login", "accounts.google.com=@\(file)"),
    ]
    let status = try host.credctl("status", "--json")
    // What Cognito said came through, without the token in it.
    expect(outcomes[1].errors.contains("NotAuthorizedException: not …"), "\(outcomes[1].errors)")
    for (outcome, secret) in zip(outcomes, [password, token]) {
      expect(outcome.status != 0)
      expect(outcome.errors.split(separator: "\n").count, equals: 1)
      for text in [outcome.errors, outcome.output, status.output, host.log] {
        expect(!isTold(secret, in: text), "\(text)")
      }
    }
  }

  /// People mistype configuration next to secrets.
  @Test
  func whatAReloadRefusesIsSaidWithoutTheSecretsInIt() throws {
    let host = try TestHost(managed: true)
    let secret = newSecret()
    for line in [
      "header.Authorization = Bearer \(secret)\u{1}", "header.Bad Name = \(secret)",
      "headers.Authorization = \(secret)", "header.A = \(secret)\nheader.A = \(secret)",
      "bearer_token = \(secret)", "password = \(secret)", "environment.KEY = \(secret)",
      "header.A =\n\(secret)",
    ] {
      try host.configure { Configuration.usual($0, backend: line) }
      let before = host.log.components(separatedBy: "the new configuration is not used").count
      host.daemon.send(SIGHUP)
      try Deadline.usual.wait(for: "the refusal of '\(line)'") {
        host.log.components(separatedBy: "the new configuration is not used").count > before
      }
      let status = try host.ask(#"{"op":"status","all":true}"#)
      let told = try #require(host.manager?.messages.joined(separator: "\n"))
      expect(told.contains("STATUS="))
      for text in ["\(status)", told, host.log] {
        expect(!isTold(secret, in: text), "\(line)\n\(text)")
      }
    }
  }

  /// A life in which the service manager hears of everything that it may hear of.
  @Test
  func serviceManagerHearsNoSecret() throws {
    let host = try TestHost(managed: true) { Configuration.password($0) }
    expect(try host.logIn("alice").errorCode == nil)
    var secrets = try host.ask(#"{"op":"token"}"#).secrets()
    secrets.merge(try host.credentials().secrets()) { $1 }
    secrets["session"] = try host.bearer()
    try host.sandbox.plan(
      #"{"Service":"cognito","Kind":"status","Status":400,"Error":"InvalidParameterException","#
        + #""Message":"bad \#(secrets["Token"] ?? "")","Count":-1}"#)
    expect(try host.refusal(#"{"refresh":true,"wait":30}"#).errorCode != nil)
    host.daemon.send(SIGHUP)
    try Deadline.usual.wait(for: "the reload") { host.log.contains("configuration loaded") }
    expect(try host.stopDaemon(), equals: 0)
    let manager = try #require(host.manager)
    // It reads on a thread of its own.
    try Deadline.usual.wait(for: "the last word") {
      manager.messages.joined(separator: "\n").contains("STOPPING=1")
    }
    let told = manager.messages.joined(separator: "\n")
    expect(told.contains("STATUS="))
    for (name, secret) in secrets { expect(!isTold(secret, in: told), "\(name)") }
  }

  /// The words and the environment of a process can be read by its user's others, and by root.
  @Test
  func aCommandHasSecretsOnItsStandardInputAlone() throws {
    let stage = try Stage.current()
    let (text, key) = (stage.newFile("script"), newSecret())
    // Beside the credentials, the command may write nothing.
    let folder = NSTemporaryDirectory() + "/credd-seen-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let seen = folder + "/seen"
    try Data(
      "#!/bin/bash\ncat /proc/$$/cmdline /proc/$$/environ >\(seen)\ncat >\(seen).in\nexit 77\n".utf8
    ).write(to: URL(filePath: text))
    let script = try stage.executable(text)
    let host = try TestHost(
      environment: ["AWS_SECRET_ACCESS_KEY": newSecret(), "CREDENTIALS_DIRECTORY": stage.folder]
    ) {
      "[backend corp]\ntype = exec\ncommand = \(script) one\nenvironment.KEY = \(key)\n"
        + Configuration.profile("default", endpoint: $0.url)
    }
    let token = try host.sandbox.token(of: "accounts.google.com", "g1")
    expect(try host.logIn(["accounts.google.com": token]).errorCode != nil)
    // Words, and what the configuration gives it: nothing else, and nothing of credd's own.
    let words = try String(contentsOfFile: seen, encoding: .utf8).split(separator: "\0")
    expect(words.prefix(3), equals: ["/bin/bash", Substring(script), "one"])
    expect(words.dropFirst(3).filter { !$0.hasPrefix("PATH=") }, equals: ["KEY=\(key)"])
    expect(try String(contentsOfFile: seen + ".in", encoding: .utf8).contains(token))
    expect(!host.log.contains(key))
  }

  /// Every test's programs are held to that: see `Stage`.
  @Test func shapesOfSecretsAreKnown() throws {
    let host = try TestHost { Configuration.password($0) }
    expect(try host.logIn("alice").errorCode == nil)
    let token = try host.ask(#"{"op":"token"}"#)["Token"]?.text ?? ""
    let credentials = try host.credentials()
    let header = try host.sandbox.lastRequest("backend.token")["Headers"]?["Authorization"]?.text
    for (secret, name) in [
      (token, "a token"), (credentials["SessionToken"]?.text, "a session token"),
      (credentials["SecretAccessKey"]?.text, "a secret access key"),
      (header, "a sign-in session"), ("alice-password", "a password"),
    ] {
      expect(SecretShapes.found(in: "credd: info: got \(secret ?? "") x=1").contains(name))
    }
    expect(SecretShapes.found(in: host.log), equals: [])
  }

  /// A line of a file in /proc/PID.
  private func line(_ start: String, of file: String, _ process: ChildProcess) throws -> [Substring]
  {
    let text = try ProcessFile.text(process.pid, file)
    let line = text.split(separator: "\n").first { $0.hasPrefix(start) } ?? ""
    return line.dropFirst(start.count).split(whereSeparator: \.isWhitespace)
  }

  @Test
  func oneThreadAtRestAndNoCoreDumps() throws {
    let host = try TestHost { Configuration.usual($0).replacing("= alice", with: "= {user}x{uid}") }
    // Names are looked up on a thread, which ends.
    _ = try host.ask()
    try Deadline.usual.wait(for: "one thread") {
      try line("Threads:", of: "status", host.daemon) == ["1"]
    }
    expect(try line("Max core file size", of: "limits", host.daemon).prefix(2), equals: ["0", "0"])
  }

  @Test
  func processIsClosedToOthersOfItsUser() throws {
    let stage = try Stage.current()
    let sandbox = try Sandbox()
    let (folder, file) = (stage.newFile("run"), stage.newFile("credd.conf"))
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    unsafe chmod(folder, 0o777)
    try Data(Configuration.usual(sandbox).utf8).write(to: URL(filePath: file))
    let program = try stage.executable(Programs.credd)
    let prefix = geteuid() == 0 ? try OtherUser.nobody.prefix : []
    let daemon = try ChildProcess(
      prefix + [program, "--config", file, "--socket", folder + "/s"])
    try Deadline.usual.wait(for: "credd") {
      (try? StreamSocket(unixPath: folder + "/s")) != nil || daemon.status != nil
    }
    // The files of a process that cannot be dumped or traced are root's (proc(5)).
    var status = stat()
    expect(unsafe stat("/proc/\(daemon.pid)/mem", &status), equals: 0)
    expect(status.st_uid, equals: 0)
    expect(try line("Uid:", of: "status", daemon).first != (geteuid() == 0 ? "0" : nil))
    expect(unsafe lstat(folder + "/s", &status), equals: 0)
    expect(status.st_mode & 0o7777, equals: 0o600)
  }
}
