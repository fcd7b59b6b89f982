import Foundation
import Glibc
import Testing

/// Secrets that are over are nowhere in the daemon's memory; its whole memory is looked through.
///
/// What configuration holds stays while it is in force: `header.NAME` and `environment.NAME`.
@Suite(.onStage, .enabled(if: MemoryScan.canBe, "reading credd's memory takes root"))
struct MemoryTests {
  private func scan(_ host: TestHost) -> MemoryScan { MemoryScan(pid: host.daemon.pid) }

  private func secrets(of reply: JSON, _ name: String = "") -> [String: String] {
    var secrets: [String: String] = [:]
    for key in ["Token", "SecretAccessKey", "SessionToken"] {
      if let text = reply[key]?.text { secrets[name + key] = text }
    }
    return secrets
  }

  /// The bearer token of the last callback, without its scheme.
  private func bearer(_ host: TestHost) throws -> String {
    let request = try host.sandbox.lastRequest("backend.token")
    let text = try #require(request["Headers"]?["Authorization"]?.text)
    return String(try #require(text.split(separator: " ").last))
  }

  /// That each secret is found: else the test would pass whatever is in memory.
  private func expectAll(_ secrets: [String: String], _ host: TestHost) throws {
    let found = try scan(host).find(secrets)
    for name in secrets.keys { #expect(found.contains { $0.hasPrefix(name + " ") }, "\(name)") }
  }

  /// Stacks are overwritten and connections dropped a moment later.
  private func expectNone(_ secrets: [String: String], _ host: TestHost) throws {
    var found: [String] = []
    try? Deadline.in(.seconds(3)).wait(for: "secrets to be gone") {
      found = try scan(host).find(secrets)
      return found.isEmpty
    }
    #expect(found == [])
  }

  @Test func nothingIsLeftAfterALogout() throws {
    let token = "Tk7bearer0of9the8host1forScan"
    let file = try Stage.current().newFile("bearer")
    try Data(token.utf8).write(to: URL(filePath: file))
    let host = try TestHost(sandbox: ["--backend-token", token], managed: true) {
      Configuration.usual($0, backend: "bearer_token_file = \(file)")
    }
    var secrets = secrets(of: try host.ask(#"{"op":"token"}"#))
    secrets.merge(self.secrets(of: try host.credentials())) { $1 }
    try expectAll(secrets, host)
    // It is read anew for each call.
    try expectNone(["bearer_token_file": token], host)
    let replaced = try host.credentials(refresh: true)
    try expectNone(["old": try #require(secrets["SecretAccessKey"])], host)
    secrets.merge(self.secrets(of: replaced, "new")) { $1 }
    _ = try host.ask(#"{"op":"status"}"#)
    _ = try host.ask(#"{"op":"logout"}"#)
    try expectNone(secrets, host)
    for secret in secrets.values { #expect(try host.manager?.holds(secret) == false) }
  }

  @Test func nothingIsLeftOfWhatExpired() throws {
    let host = try TestHost(
      sandbox: ["--credential-lifetime", "4", "--token-lifetime", "3"], managed: true)
    let secrets = secrets(of: try host.credentials())
    try expectAll(secrets, host)
    try host.sandbox.plan(#"{"Service":"cognito","Kind":"status","Status":503,"Count":-1}"#)
    // They count as expired before they are; then nobody may be handed them any more.
    try Deadline.usual.wait(for: "expiry") {
      try host.ask(#"{"wait":0}"#)["AccessKeyId"] == nil
    }
    try expectNone(secrets, host)
  }

  @Test func nothingIsLeftOfPasswords() throws {
    let host = try TestHost(managed: true) { Configuration.password($0) }
    let refused = "wrong-Passw0rd-of-the-scan"
    #expect(try host.logIn("alice", password: refused).errorCode == "SignInFailed")
    try expectNone(["refused password": refused], host)
    #expect(try host.logIn("alice").errorCode == nil)
    // Accepted, it is not needed any more: the backend's session is.
    try expectNone(["password": "alice-password"], host)
    var secrets = secrets(of: try host.credentials())
    secrets["session"] = try bearer(host)
    try expectAll(secrets, host)
    _ = try host.ask(#"{"op":"logout","global":true}"#)
    try expectNone(secrets, host)
  }

  @Test func nothingIsLeftOfTokensAtHandAndLogins() throws {
    let host = try TestHost(managed: true) { sandbox in
      Configuration.usual(sandbox) + Configuration.direct(sandbox, "direct")
    }
    let mine = try host.ask(#"{"op":"token"}"#)
    let (identity, token) = (mine["IdentityId"]?.text ?? "", mine["Token"]?.text ?? "")
    _ = try host.ask(#"{"op":"logout"}"#)
    try expectNone(["token": token], host)
    let reply = try host.ask(
      #"{"op":"login","profile":"direct","identity_id":"\#(identity)","token":"\#(token)"}"#)
    #expect(reply.errorCode == nil)
    try expectAll(["token": token], host)
    _ = try host.ask(#"{"op":"logout","profile":"direct"}"#)
    try expectNone(["token": token], host)
    let logins = Dictionary(
      uniqueKeysWithValues: (0..<10).map { number in
        (
          "p\(number).example",
          String((0..<40_000).map { _ in "abcdefghjkmnpqrs".randomElement() ?? "x" })
        )
      })
    #expect(try host.logIn(logins, profile: "direct").errorCode != nil)
    try expectNone(logins, host)
  }

  @Test func nothingIsLeftOfLinesThatCameToNothing() throws {
    let host = try TestHost()
    let secret = "leaked-by-an-unfinished-line"
    var half: StreamSocket? = try host.connect()
    try half?.send(#"{"op":"login","profile":"default","username":"a","password":"\#(secret)"#)
    try Deadline.usual.wait(for: "the half line") { try !scan(host).find(["half": secret]).isEmpty }
    half = nil
    try expectNone(["half": secret], host)
    for line in [
      #"{"op":"login","password":"\#(secret)1""#, #"{"op":"login","\#(secret)2":1}"#,
      #"{"op":"login","profile":"none","username":"a","password":"\#(secret)3"}"#,
      #"{"op":"login","profile":"default","username":"a","password":["\#(secret)4"]}"#,
      #"{"op":"login","profile":"default","username":"a","password":"leaked\u002dby-an-"#
        + #"unfinished-line5"}"#,
    ] {
      #expect(try host.ask(line).errorCode != nil)
    }
    try expectNone(["line": secret], host)
  }

  @Test func nothingIsLeftOfUnreadReplies() throws {
    let host = try TestHost(managed: true)
    let secrets = secrets(of: try host.credentials())
    var deaf: [StreamSocket] = []
    for _ in 0..<10 {
      let socket = try host.connect()
      try socket.send(String(repeating: "{}\n", count: 2000))
      deaf.append(socket)
    }
    try Deadline.usual.wait(for: "replies to pile up") {
      try scan(host).find(secrets).count > 3
    }
    _ = try host.ask(#"{"op":"logout"}"#)
    deaf = []
    try expectNone(secrets, host)
  }

  @Test func nothingIsLeftOfAReplacedBearerTokenAndOfSigningKeys() throws {
    let file = try Stage.current().newFile("credentials")
    let secret = "sandbox-developer-secret"
    try Data(
      "[default]\naws_access_key_id = AKIASANDBOXDEVELOPER\naws_secret_access_key = \(secret)\n"
        .utf8
    ).write(to: URL(filePath: file))
    let host = try TestHost { sandbox in
      """
      [backend corp]
      type = cognito
      cognito_endpoint = \(sandbox.url)
      credentials_file = \(file)

      """ + Configuration.profile("default", endpoint: sandbox.url)
    }
    _ = try host.credentials()
    try expectNone(["developer key": secret, "signing key": "AWS4" + secret], host)
    try Data("[default]\naws_access_key_id = A\naws_secret_access_key = other".utf8)
      .write(to: URL(filePath: file))
    host.daemon.send(SIGHUP)
    try Deadline.usual.wait(for: "the reload") { host.log.contains("configuration") }
    try expectNone(["developer key": secret, "next": "aws_secret_access_key = other"], host)
  }

  // MARK: Swap

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
    #expect(try host.ask().errorCode != nil)
    let status = try String(contentsOfFile: "/proc/\(host.daemon.pid)/status", encoding: .utf8)
    #expect((lockedKilobytes(status) ?? 0) > 1000)
    #expect(lockedKilobytes(try String(contentsOfFile: seen, encoding: .utf8)) == 0)
    #expect(!host.log.contains("swapped"))
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
    #expect(daemon.errors.components(separatedBy: "secrets may be swapped out").count == 2)
  }
}
