import Foundation
import Glibc
import Testing
import TestSupport

@testable import DaemonHarness

/// What credd and its upstreams told each other leaves nothing in the daemon's memory, by whatever
/// way it went.
@Suite(.onStage, .enabled(if: MemoryScan.canBe, "reading credd's memory takes root"))
struct MemoryUpstreamTests {
  private func write(_ text: String, to file: String) throws {
    try Data(text.utf8).write(to: URL(filePath: file))
  }

  // MARK: The host's own secrets

  /// It is read anew for each call.
  @Test func nothingIsLeftOfBearerTokens() throws {
    let file = try Stage.current().newFile("bearer")
    let (first, second) = (newSecret(), newSecret(300))
    let host = try TestHost {
      Configuration.usual($0, backend: "bearer_token_file = \(file)")
    }
    for token in [first, second] {
      try write(token + "\n", to: file)
      try host.sandbox.plan(#"{"Service":"backend","Kind":"delay","Seconds":1.5}"#)
      let waiting = try host.connect()
      try waiting.send(#"{"op":"login"}"# + "\n")
      try host.expectAll(["bearer": token])
      expect(try waiting.reply().errorCode == nil)
      expect(try host.bearer(), equals: token)
      try host.expectNone(["bearer": token])
      _ = try host.ask(#"{"op":"logout"}"#)
    }
  }

  private static let developerKey = "AKIASANDBOXDEVELOPER"

  private func signingHost(_ secret: String, _ keys: String) throws -> TestHost {
    let seed = try Configuration.seed(#""DeveloperKeys":{"\#(Self.developerKey)":"\#(secret)"}"#)
    return try TestHost(sandbox: seed) { sandbox in
      """
      [backend corp]
      type = cognito
      cognito_endpoint = \(sandbox.url)
      \(keys)

      """ + Configuration.profile("default", endpoint: sandbox.url)
    }
  }

  /// They are read anew for each call, and signing is done before it is sent.
  @Test func nothingIsLeftOfDeveloperKeysInAFile() throws {
    let file = try Stage.current().newFile("credentials")
    let (secret, next) = (newSecret(40), newSecret(40))
    func text(_ secret: String) -> String {
      "[default]\naws_access_key_id = \(Self.developerKey)\naws_secret_access_key = \(secret)\n"
    }
    try write(text(secret), to: file)
    let host = try signingHost(secret, "credentials_file = \(file)")
    var secrets = try host.credentials().secrets()
    try host.expectAll(secrets)
    // The sandbox has checked the signature that was made with it.
    host.noteInMemory(["developer key": secret])
    try host.expectNone(["developer key": secret])
    try write(text(next), to: file)
    expect(try host.ask(#"{"op":"clear","what":"identity"}"#).errorCode == nil)
    expect(try host.refusal("{}").errorCode, equals: "BackendRejected")
    host.noteInMemory(["next": next])
    secrets.merge(["developer key": secret, "next": next]) { $1 }
    try host.expectNone(secrets)
  }

  /// They are kept until they run out, or the configuration is read anew.
  @Test func nothingIsLeftOfDeveloperKeysOfAProcess() throws {
    let (program, go) = try (Stage.current().newFile("process"), Stage.current().newFile("go"))
    let (secret, other) = (newSecret(40), newSecret(40))
    let reply =
      #"{"Version":1,"AccessKeyId":"\#(Self.developerKey)","SecretAccessKey":"\#(secret)"}"#
    try write("echo '\(reply)'", to: program)
    let host = try signingHost(secret, "credential_process = /bin/sh \(program)")
    _ = try host.credentials()
    try host.expectAll(["developer key": secret])
    try write(
      "echo '{\"Error\":\"\(other)\"}'; until [ -e \(go) ]; do sleep 0.05; done; exit 1",
      to: program)
    host.daemon.send(SIGHUP)
    try Deadline.usual.wait(for: "the reload") { host.log.contains("configuration loaded") }
    try host.expectNone(["developer key": secret])
    _ = try host.ask(#"{"op":"clear","what":"identity"}"#)
    let waiting = try host.connect()
    try waiting.send("{}\n")
    try host.expectAll(["output": other])
    try write("", to: go)
    _ = try waiting.reply()
    expect(try host.refusal("{}").errorCode != nil)
    try host.expectNone(["output": other])
  }

  // MARK: Ways

  /// OpenSSL's buffers are of a connection that lives on.
  @Test func nothingIsLeftOfWhatWentOverTLS() throws {
    let tls = try Certificates()
    let file = try Stage.current().newFile("bearer")
    let bearer = newSecret()
    try write(bearer, to: file)
    let trust = "ca_file = \(tls.folder)/server.pem\n"
    let client = """
      client_certificate = \(tls.folder)/client.pem
      client_key = \(tls.folder)/client.key
      bearer_token_file = \(file)

      """
    let options = tls.server + ["--tls-client-ca", tls.folder + "/client.pem"]
    let host = try TestHost(sandbox: options, managed: true) { sandbox in
      Configuration.http(url: sandbox.tlsURL + "/token", backend: trust + client)
        + Configuration.profile("default", endpoint: sandbox.url)
        + Configuration.profile(
          "tls", endpoint: sandbox.tlsURL,
          "flow = basic\nsts_endpoint = \(sandbox.url)\n"
            + "role_arn = \(Configuration.role("authenticated"))\n" + trust)
    }
    try host.sandbox.plan(#"{"Service":"backend","Kind":"delay","Seconds":1.5}"#)
    let first = try host.connect()
    try first.send(#"{"op":"token","wait":30}"# + "\n")
    try host.expectAll(["bearer": bearer])
    expect(try first.reply()["Token"] != nil)
    var secrets: [String: String] = [:]
    for profile in ["default", "tls"] {
      let token = try host.ask(#"{"op":"token","profile":"\#(profile)","wait":30}"#)
      secrets.merge(token.secrets(profile)) { $1 }
      secrets.merge(try host.credentials(profile).secrets(profile)) { $1 }
    }
    try host.expectAll(secrets)
    // The private key's file; the key itself is of the connection.
    let key = try String(contentsOfFile: tls.folder + "/client.key", encoding: .utf8)
    let lines = key.split(separator: "\n").filter { !$0.hasPrefix("-") }.joined()
    let fileOfKey = ["client key": String(lines.dropFirst(40))]
    // The sandbox asks every client for a certificate: the file was read for each connection.
    host.noteInMemory(fileOfKey)
    try host.expectNone(["bearer": bearer].merging(fileOfKey) { $1 })
    for profile in ["default", "tls"] {
      _ = try host.ask(#"{"op":"logout","profile":"\#(profile)"}"#)
    }
    try host.expectNone(secrets)
  }

  /// STS takes the token in a form, and answers in XML.
  @Test func nothingIsLeftOfTheBasicFlow() throws {
    let host = try TestHost(managed: true) {
      Configuration.usual(
        $0,
        profile: """
          flow = basic
          role_arn = \(Configuration.role("authenticated"))
          sts_endpoint = \($0.url)
          """)
    }
    var secrets = try host.ask(#"{"op":"token"}"#).secrets()
    secrets.merge(try host.credentials().secrets()) { $1 }
    try host.expectAll(secrets)
    _ = try host.ask(#"{"op":"logout"}"#)
    try host.expectNone(secrets)
  }

  /// Amazon's sample server encrypts: passwords become keys, and tokens are decrypted.
  @Test func nothingIsLeftOfTheSampleServer() throws {
    let host = try TestHost(managed: true) { sandbox in
      "[backend corp]\ntype = aws-sample\nurl = \(sandbox.url)/sample\n"
        + Configuration.profile("default", endpoint: sandbox.url)
    }
    let password = newSecret()
    let answer = try host.sandbox.call(
      "GET", "/sample/registeruser?username=carol&password=\(password)")
    expect(answer.hasPrefix("HTTP/1.1 200 "))
    // What the server stores, and the first key is a half of.
    let salt = "carol" + "awscognitodeveloperauthenticationsample" + "127.0.0.1"
    let openssl = try ChildProcess(
      [
        try #require(Programs.installed("openssl")), "dgst", "-sha256", "-hmac", password, "-r",
      ],
      input: try { () throws -> String in
        let file = try Stage.current().newFile("salt")
        try write(salt, to: file)
        return file
      }())
    expect(try openssl.wait(), equals: 0)
    let salted = String(openssl.output.prefix { $0 != " " })
    expect(salted.utf8.count, equals: 64)
    try host.sandbox.plan(
      #"{"Service":"sample","Operation":"login","Kind":"delay","Seconds":1.5}"#)
    let socket = try host.connect()
    try socket.send(
      #"{"op":"login","profile":"default","username":"carol","password":"\#(password)"}"# + "\n")
    try host.expectAll(["password": password, "salted": salted])
    expect(try socket.reply().errorCode == nil)
    try host.expectNone(["password": password, "salted": salted])
    var secrets = try host.ask(#"{"op":"token"}"#).secrets()
    secrets.merge(try host.credentials().secrets()) { $1 }
    // The key that signs and decrypts from then on came encrypted; it is kept for a restart.
    let uid = try #require(try host.sandbox.lastForm("login")["uid"])
    let kept = String(decoding: try host.manager?.content() ?? [], as: UTF8.self)
    let place = try #require(kept.range(of: uid + ":"))
    secrets["key"] = String(kept[place.upperBound...].prefix(32))
    try host.expectAll(secrets)
    _ = try host.ask(#"{"op":"logout"}"#)
    try host.expectNone(secrets)
  }

  /// A command has logins on its standard input, and tokens on its standard output.
  @Test func nothingIsLeftOfWhatACommandWasToldAndSaid() throws {
    let stage = try Stage.current()
    let (text, go) = (stage.newFile("script"), stage.newFile("go"))
    let wrong = stage.newFile("wrong")
    let (refused, said) = (newSecret(400), newSecret())
    try write(
      #"""
      #!/bin/bash
      read -r query
      if [[ $query == *tellWrong* ]]; then
        echo '{"IdentityId":"x","Token":"\#(refused)"}'
        echo '\#(said)' >&2
        while [ ! -e \#(wrong) ]; do sleep 0.05; done
        exit 0
      fi
      while [ ! -e \#(go) ]; do sleep 0.05; done
      exec 3<>/dev/tcp/127.0.0.1/$1
      printf 'POST /token HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s' \
        "${#query}" "$query" >&3
      sed '1,/^\r$/d' <&3

      """#, to: text)
    let script = try stage.executable(text)
    let host = try TestHost(managed: true) { sandbox in
      "[backend corp]\ntype = exec\ncommand = \(script) \(sandbox.port)\ntimeout = 30s\n"
        + Configuration.profile("default", endpoint: sandbox.url)
        + Configuration.profile("wrong", endpoint: sandbox.url, identifier: "tellWrong")
    }
    let google = "accounts.google.com"
    var secrets = ["login": try host.sandbox.token(of: google, "g1")]
    let socket = try host.connect()
    try socket.send(
      #"{"op":"login","profile":"default","logins":{"\#(google)":"\#(secrets["login"] ?? "")"}}"#
        + "\n")
    try host.expectAll(secrets)
    try write("", to: go)
    expect(try socket.reply().errorCode == nil)
    let login = secrets
    secrets = try host.ask(#"{"op":"token"}"#).secrets()
    secrets.merge(try host.credentials().secrets()) { $1 }
    try host.expectAll(secrets)
    // A login is needed until it is linked, and no longer. Tokens of one sandbox have parts in common.
    try host.expectNone(login, besides: Array(secrets.values))
    _ = try host.ask(#"{"op":"logout"}"#)
    try host.expectNone(secrets)
    let waiting = try host.connect()
    try waiting.send(#"{"profile":"wrong"}"# + "\n")
    try host.expectAll(["output": refused, "standard error": said])
    try write("", to: wrong)
    _ = try waiting.reply()
    expect(try host.refusal(#"{"profile":"wrong"}"#).errorCode != nil)
    try host.expectNone(["output": refused, "standard error": said])
  }
}
