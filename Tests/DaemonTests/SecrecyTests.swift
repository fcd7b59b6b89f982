import Foundation
import Glibc
import Testing

/// What nobody may see.
@Suite(.onStage)
struct SecrecyTests {
  @Test
  func logOfAWholeLifeHoldsNoSecret() throws {
    let file = try Stage.current().newFile("bearer")
    let bearer = "Tk7bearer0of9the8host1"
    try Data(bearer.utf8).write(to: URL(filePath: file))
    let host = try TestHost(sandbox: ["--backend-token", bearer]) {
      Configuration.usual($0, backend: "bearer_token_file = \(file)")
    }
    var secrets = [bearer]
    func note(_ reply: JSON, _ keys: String...) throws {
      for key in keys { secrets.append(try #require(reply[key]?.text, "\(reply)")) }
    }
    try note(try host.ask(#"{"op":"token"}"#), "Token")
    let token = secrets[1]
    try note(try host.ask(), "SecretAccessKey", "SessionToken")
    try note(try host.ask(#"{"refresh":true}"#), "SecretAccessKey", "SessionToken")
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
        answers.append("\(try host.ask(#"{"refresh":true,"wait":1}"#).errorMessage ?? "")")
        return try host.sandbox.exchanges > exchanges
      }
    }
    try host.sandbox.control("POST", "revoke", #"{"User":"alice"}"#)
    try host.sandbox.plan(
      #"{"Service":"backend","Kind":"status","Status":401,"Body":"not \#(bearer) of \#(token)"}"#)
    try Deadline.usual.wait(for: "the sign-in to be lost") {
      answers.append(try host.credctl("get", "--refresh", "--wait", "1").errors)
      return try host.ask(#"{"op":"identity"}"#)["State"]?.text == "tokensInvalid"
    }
    answers.append(try host.credctl("status", "--json").output)
    #expect(try host.stopDaemon() == 0)
    #expect(host.log.contains("credentials refreshed"))
    for secret in secrets {
      // A part of it is too much as well.
      let part = String(secret.prefix(20))
      #expect(!host.log.contains(part))
      #expect(!answers.contains { $0.contains(part) })
    }
  }

  /// Every test's programs are held to that: see `Stage`.
  @Test func shapesOfSecretsAreKnown() throws {
    let host = try TestHost { Configuration.password($0) }
    #expect(try host.logIn("alice").errorCode == nil)
    let token = try host.ask(#"{"op":"token"}"#)["Token"]?.text ?? ""
    let credentials = try host.credentials()
    let header = try host.sandbox.lastRequest("backend.token")["Headers"]?["Authorization"]?.text
    for (secret, name) in [
      (token, "a token"), (credentials["SessionToken"]?.text, "a session token"),
      (credentials["SecretAccessKey"]?.text, "a secret access key"),
      (header, "a sign-in session"), ("alice-password", "a password"),
    ] {
      #expect(SecretShapes.found(in: "credd: info: got \(secret ?? "") x=1").contains(name))
    }
    #expect(SecretShapes.found(in: host.log) == [])
  }

  /// A line of a file in /proc/PID.
  private func line(_ start: String, of file: String, _ process: ChildProcess) throws -> [Substring]
  {
    let text = try String(contentsOfFile: "/proc/\(process.pid)/\(file)", encoding: .utf8)
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
    #expect(try line("Max core file size", of: "limits", host.daemon).prefix(2) == ["0", "0"])
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
    #expect(unsafe stat("/proc/\(daemon.pid)/mem", &status) == 0)
    #expect(status.st_uid == 0)
    #expect(try line("Uid:", of: "status", daemon).first != (geteuid() == 0 ? "0" : nil))
    #expect(unsafe lstat(folder + "/s", &status) == 0)
    #expect(status.st_mode & 0o7777 == 0o600)
  }
}
