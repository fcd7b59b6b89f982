import AuthCore
import AuthStore
import AuthTestSupport
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import Testing

@testable import AuthServer

/// Certificates of an authority of the tests' own.
struct TestCertificates {
  let folder: TestFolder

  init() throws {
    folder = try TestFolder()
    try openssl(
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
      "2", "-subj", "/CN=Test authority", "-keyout", path("ca.key"), "-out", path("ca.pem"))
  }

  func path(_ name: String) -> String { folder.path + "/" + name }

  func issue(_ file: String, _ names: String) throws {
    try openssl(
      "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=x",
      "-keyout", path(file + ".key"), "-out", path(file + ".csr"))
    try "subjectAltName=\(names)".write(
      toFile: path("ext"), atomically: false, encoding: .utf8)
    try openssl(
      "x509", "-req", "-in", path(file + ".csr"), "-CA", path("ca.pem"), "-CAkey", path("ca.key"),
      "-CAcreateserial", "-days", "2", "-extfile", path("ext"), "-out", path(file + ".pem"))
  }

  /// With `server` as certificate and key.
  var configuration: AuthCore.Configuration {
    var configuration = AuthCore.Configuration()
    configuration.tlsCertificate = path("server.pem")
    configuration.tlsKey = path("server.key")
    return configuration
  }

  private func openssl(_ arguments: String...) throws {
    try Command.run("/usr/bin/openssl", arguments)
  }
}

/// TLS, client certificates, and the sample protocol, which is for TLS only.
struct TransportTests {
  private func run(
    _ certificates: TestCertificates,
    now: @escaping @Sendable () -> Timestamp = { Timestamp(Date.now) },
    _ change: (inout AuthCore.Configuration) -> Void = { _ in },
    _ body: (TestServer) async throws -> Void
  ) async throws {
    try certificates.issue("server", "DNS:localhost,IP:127.0.0.1")
    try await TestServer.run(
      .sqlite, now: now,
      { configuration in
        configuration.tlsCertificate = certificates.path("server.pem")
        configuration.tlsKey = certificates.path("server.key")
        change(&configuration)
      }, body)
  }

  /// A client with a certificate, or without.
  private func reply(
    _ test: TestServer, _ certificates: TestCertificates, _ name: String?,
    _ user: String = "alice", session: String? = nil
  ) async throws -> Int {
    var tls = TLSConfiguration.makeClientConfiguration()
    tls.trustRoots = .file(certificates.path("ca.pem"))
    if let name {
      tls.certificateChain = try NIOSSLCertificate.fromPEMFile(certificates.path(name + ".pem"))
        .map { .certificate($0) }
      tls.privateKey = .privateKey(
        try NIOSSLPrivateKey(file: certificates.path(name + ".key"), format: .pem))
    }
    let http = try TestClient(tls)
    var headers: HTTPHeaders = ["Host": "server", "Content-Type": "application/json"]
    if let session { headers.add(name: "Authorization", value: "Bearer " + session) }
    let body = """
      {"IdentityPoolId":"\(TestServer.poolID)","DeveloperProviderName":"\(TestServer.provider)",
      "DeveloperUserIdentifier":"\(user)"}
      """
    let reply = try? await http.send(
      .POST, "/v1/token", to: TestClient.Origin(test.base), headers: headers,
      body: Array(body.utf8))
    return reply?.status ?? 0
  }

  @Test func aClientCertificateStandsForTheHostThatItNames() async throws {
    let certificates = try TestCertificates()
    try certificates.issue("web1", "DNS:web1")
    try certificates.issue("web2", "DNS:web2")
    try certificates.issue("both", "DNS:web1,DNS:web2")
    let strangers = try TestCertificates()
    try strangers.issue("web1", "DNS:web1")
    let change: (inout AuthCore.Configuration) -> Void = {
      $0.clientCAFile = certificates.path("ca.pem")
    }
    try await run(certificates, change) { test in
      try await test.enrol("web1")
      #expect(try await reply(test, certificates, "web1") == 200)
      #expect(try await reply(test, certificates, "web1", "bob") == 403)
      #expect(try await reply(test, certificates, "web2") == 401)
      #expect(try await reply(test, certificates, "both") == 401)
      #expect(try await reply(test, certificates, nil) == 401)
    }
    // Of another authority: no connection.
    try await run(certificates, change) { test in
      try await test.enrol("web1")
      try FileManager.default.copyItem(
        atPath: strangers.path("web1.pem"), toPath: certificates.path("s.pem"))
      try FileManager.default.copyItem(
        atPath: strangers.path("web1.key"), toPath: certificates.path("s.key"))
      #expect([0, 401].contains(try await reply(test, certificates, "s")))
      #expect(test.cognito.calls.isEmpty)
    }
  }

  /// Whoever has stolen a host's certificate has its name.
  @Test func aStolenCertificateEndsWithItsEnrolment() async throws {
    let certificates = try TestCertificates()
    try certificates.issue("web1", "DNS:web1")
    let shown = try NIOSSLCertificate.fromPEMFile(certificates.path("web1.pem"))[0]
    try await run(certificates, { $0.clientCAFile = certificates.path("ca.pem") }) { test in
      try await test.enrol("web1")
      #expect(try await reply(test, certificates, "web1") == 200)
      let now = Timestamp(Date.now)
      func enrolAnew(_ time: Timestamp) async throws {
        #expect(try await test.store.revoke(host: "web1", now: now))
        try await test.store.enrol(
          Enrolment(
            name: "web1", rights: HostRights(vouches: try Patterns("alice"), pools: ["work"]),
            created: time), token: nil)
      }
      try await enrolAnew(now + .hours(1))
      #expect(try await reply(test, certificates, "web1") == 401)
      // One that was made after the enrolment.
      try await enrolAnew(now + .hours(-1))
      #expect(try await reply(test, certificates, "web1") == 200)
      let refused = try #require(try await test.events("hostRefused").last)
      #expect(refused.member("reason") == "outdated")
      #expect(refused.member("host") == "web1")
      let fingerprint = Hex.encode(Digest.sha256(try shown.toDERBytes()))
      for event in ["hostRefused", "token"] {
        let entry = try #require(try await test.events(event).last)
        #expect(entry.member("serial") == Hex.encode(shown.serialNumber))
        #expect(entry.member("fingerprint") == fingerprint)
      }
    }
  }

  @Test func aCertificateIsWorthWhatItsEnrolmentIs() async throws {
    let certificates = try TestCertificates()
    try certificates.issue("web1", "DNS:web1")
    try certificates.issue("web2", "DNS:web2")
    try await run(certificates, { $0.clientCAFile = certificates.path("ca.pem") }) { test in
      let host = try await test.enrol("web1")
      try await test.enrol("web2")
      _ = try await test.register("zoe")
      let session = try #require(try await test.login(host, "zoe")["SessionToken"])
      // A sign-in belongs to its host, however that shows who it is.
      #expect(
        try await reply(test, certificates, "web1", "account:zoe", session: session) == 200)
      #expect(
        try await reply(test, certificates, "web2", "account:zoe", session: session) == 401)
      #expect(try await reply(test, certificates, nil, "account:zoe", session: session) == 401)
      let now = Timestamp(Date.now)
      #expect(try await test.store.revoke(host: "web1", now: now))
      #expect(try await reply(test, certificates, "web1") == 401)
      try await test.store.enrol(
        Enrolment(
          name: "web1", rights: HostRights(vouches: try Patterns("alice"), pools: ["work"]),
          expires: now, created: now), token: nil)
      #expect(try await reply(test, certificates, "web1") == 401)
      #expect(try await reply(test, certificates, "web2") == 200)
    }
  }

  @Test func withoutAnAuthorityACertificateIsNoWord() async throws {
    let certificates = try TestCertificates()
    try certificates.issue("web1", "DNS:web1")
    try await run(certificates) { test in
      try await test.enrol("web1")
      #expect(try await reply(test, certificates, "web1") == 401)
    }
  }

  @Test func aNewCertificateIsTakenWhileTheServerRuns() throws {
    let certificates = try TestCertificates()
    try certificates.issue("server", "DNS:localhost")
    let contexts = try #require(try TLSContexts(certificates.configuration, metrics: Metrics()))
    try certificates.issue("server", "DNS:localhost")
    try contexts.reload()
    try "rubbish".write(
      toFile: certificates.path("server.pem"), atomically: false, encoding: .utf8)
    #expect(throws: ServerFailure.self) { try contexts.reload() }
  }

  // MARK: The sample protocol

  private static let settings = try? AuthCore.Configuration.read([
    (
      name: "sample",
      text: """
      [server]
      tls_certificate = /c
      tls_key = /k
      [pool work]
      identity_pool_id = us-east-1:11
      developer_provider = dev
      [sample]
      pool = work
      host_name = localhost
      """
    )
  ]).sample

  private static let form = "application/x-www-form-urlencoded"

  private func sample(
    _ test: TestServer, _ path: String, _ values: [(String, String)], query: Bool = false
  ) async throws -> TestServer.Reply {
    let text = values.map { "\($0)=\($1)" }.joined(separator: "&")
      .replacing("+", with: "%2B")
    if query { return try await test.send(.GET, path + "?" + text) }
    return try await test.send(.POST, path, [("Content-Type", Self.form)], body: text)
  }

  private let uid = "0123456789abcdef"
  private var salted: String {
    SampleProtocol(host: "localhost").salted(username: "bob", password: "secret123")
  }

  private func login(
    _ test: TestServer, _ device: String, user: String = "bob", at time: String
  ) async throws -> TestServer.Reply {
    let salted = SampleProtocol(host: "localhost").salted(username: user, password: "secret123")
    return try await sample(
      test, "/login",
      [
        ("username", user), ("timestamp", time), ("uid", device),
        ("signature", SampleProtocol.loginSignature(salted: salted, timestamp: time)),
      ])
  }

  private func stamp(_ offset: Int64 = 0) -> String {
    (Timestamp(Date.now) + .seconds(offset)).iso8601
  }

  /// As the clients do it: with OpenSSL in place of their own AES.
  private func decrypt(_ body: String, _ key: String) throws -> String {
    let bytes = try #require(Data(base64Encoded: body.trimmingCharacters(in: .newlines)))
    let folder = try TestFolder()
    try bytes.dropFirst(16).write(to: URL(fileURLWithPath: folder.path + "/c"))
    return try Command.run(
      "/usr/bin/openssl",
      [
        "enc", "-d", "-aes-128-cbc", "-K", key, "-iv", Hex.encode(bytes.prefix(16)), "-in",
        folder.path + "/c",
      ])
  }

  private func withSample(
    now: @escaping @Sendable () -> Timestamp = { Timestamp(Date.now) },
    _ body: (TestServer) async throws -> Void
  ) async throws {
    try await run(
      try TestCertificates(), now: now,
      { configuration in
        configuration.sample = Self.settings
      }, body)
  }

  @Test func theClientsOfTheSampleAreServed() async throws {
    try await withSample { test in
      let register = [("username", "bob"), ("password", "secret123")]
      #expect(try await sample(test, "/registeruser", register).status == 200)
      #expect(try await sample(test, "/registeruser", register).status == 406)
      #expect(try await sample(test, "/login", []).status == 400)
      // The known answer of the password's form is what is stored.
      #expect(
        try await test.store.user("sample:bob")?.password
          == "bec8a2c77c36323b295a4933e50956fc7b365cf8a818fac3de751db4df8a6a13")
      let reply = try await login(test, uid, at: stamp())
      #expect(reply.status == 200)
      #expect(reply.headers.first(name: "Content-Type") == "text/plain; charset=UTF-8")
      let text = try decrypt(reply.body, String(salted.prefix(32)))
      #expect(text.hasPrefix("{\t\"key\": \""))
      let key = String(text.dropFirst(10).prefix(32))
      let time = stamp()
      let logins = [(provider: TestServer.provider, token: "bob")]
      let signature = SampleProtocol.tokenSignature(
        key: key, timestamp: time, logins: logins, identityID: nil)
      let values = [
        ("uid", uid), ("timestamp", time), ("provider1", TestServer.provider), ("token1", "bob"),
        ("signature", signature),
      ]
      let token = try await sample(test, "/gettoken", values, query: true)
      #expect(token.status == 200)
      let json = try decrypt(token.body, key)
      #expect(json.hasPrefix("{\"identityPoolId\": \"\(TestServer.poolID)\", \"identityId\": \""))
      #expect(json.hasSuffix("\"token\": \"token-1\",}"))
      #expect(test.cognito.calls.map(\.user) == ["sample:bob"])
      // The same signature again is a replay.
      #expect(try await sample(test, "/gettoken", values, query: true).status == 401)
      // A device that was revoked gets nothing more.
      #expect(try await test.store.revoke(device: uid))
      let later = stamp(1)
      let again = SampleProtocol.tokenSignature(
        key: key, timestamp: later, logins: [], identityID: nil)
      let refused = try await sample(
        test, "/gettoken", [("uid", uid), ("timestamp", later), ("signature", again)])
      #expect(refused.status == 401 && refused.body == "Error matching signature\n")
    }
  }

  @Test func whoRegistersTooOftenIsToldHowLongToWait() async throws {
    let now = Timestamp(Date.now)
    try await withSample(now: { now }) { test in
      let form = [("username", "bob"), ("password", "secret123")]
      for _ in 0..<Limits.freeGuesses.pair { _ = try await sample(test, "/registeruser", form) }
      let reply = try await sample(test, "/registeruser", form)
      #expect(reply.status == 429 && reply.headers["Retry-After"] == ["1"])
    }
  }

  @Test func aStrangerCannotFillTheAudit() async throws {
    // No pause ends between the tries, however busy the machine.
    let now = Timestamp(Date.now)
    try await withSample(now: { now }) { test in
      func refused(_ device: String) async throws -> Int {
        try await sample(
          test, "/gettoken", [("uid", device), ("timestamp", stamp()), ("signature", "x")]
        ).status
      }
      for index in 0..<20 { #expect(try await refused("device\(index)") == 401) }
      #expect(try await test.events().isEmpty)
      for index in 0..<20 { _ = try await login(test, uid, user: "nobody\(index)", at: stamp()) }
      #expect(try await test.events("loginFailed").count == Limits.auditEach)
      // Of a device that is there a few are kept.
      _ = try await sample(test, "/registeruser", [("username", "bob"), ("password", "secret123")])
      _ = try await login(test, uid, at: stamp())
      let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<20 { group.addTask { try await refused(uid) } }
        return try await group.reduce(into: [Int]()) { $0.append($1) }
      }
      #expect(Set(statuses) == [401, 429])
      #expect(try await test.events("refused").count == Int(Limits.freeGuesses.pair))
    }
  }

  @Test func replaysStrangersAndOldTimestampsReadAlike() async throws {
    try await withSample { test in
      for name in ["bob", "eve"] {
        _ = try await sample(
          test, "/registeruser", [("username", name), ("password", "secret123")])
      }
      let time = stamp()
      #expect(try await login(test, uid, at: time).status == 200)
      let refused = [
        try await login(test, uid, at: time), try await login(test, uid, at: stamp(-901)),
        try await login(test, uid, user: "nobody", at: stamp(1)),
        // The device is bob's.
        try await login(test, uid, user: "eve", at: stamp(2)),
      ]
      #expect(Set(refused.map(\.status)) == [401])
      #expect(Set(refused.map(\.body)) == ["Error matching signature\n"])
    }
  }

  @Test(arguments: [
    "provider2=x&token2=y", "provider1=x&token1=bob%7F", "identityId=x", "provider1=x", "uid=other",
  ])
  func whatTheSignatureCoversCannotBeCutAnotherWay(_ extra: String) async throws {
    try await withSample { test in
      let form = "uid=\(uid)&timestamp=\(stamp())&signature=x&" + extra
      let reply = try await test.send(
        .POST, "/gettoken", [("Content-Type", Self.form)], body: form)
      #expect(reply.status == 400)
    }
  }

  /// An app of the sample's sends all logins that it has.
  @Test func ofSeveralLoginsTheSecondIsNamed() async throws {
    try await withSample { test in
      let values = [
        ("uid", uid), ("timestamp", stamp()), ("provider1", TestServer.provider),
        ("token1", "bob"), ("provider2", "x"), ("token2", "y"), ("signature", "x"),
      ]
      let reply = try await sample(test, "/gettoken", values)
      #expect(reply.status == 400)
      #expect(
        reply.body.contains(
          "2: this server takes one login, provider1, of the pool's developer_provider"))
    }
  }

  @Test func withoutTLSTheSampleIsNotServed() async throws {
    try await TestServer.run(
      .sqlite,
      { configuration in
        configuration.sample = Self.settings
      },
      { test in
        let reply = try await sample(
          test, "/registeruser", [("username", "bob"), ("password", "secret123")])
        #expect(reply.status == 403)
        #expect(try await test.store.users().isEmpty)
      })
  }
}
