import AuthCore
import AuthStore
import AuthTestSupport
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL
import Testing

@testable import AuthServer

/// A server within the tests' process, on loopback, with Cognito in memory.
struct TestServer: Sendable {
  static let poolID = "us-east-1:11111111-2222-3333-4444-555555555555"
  static let provider = "login.example.app"

  let server: Server
  let store: AuthStore
  let cognito: FakeCognito
  let base: String
  let http: TestClient

  /// What a reply says.
  struct Reply: Sendable {
    let status: Int
    let headers: HTTPHeaders
    let body: String

    subscript(name: String) -> String? {
      (try? JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: String])?[name]
    }
    var code: String? { self["Code"] }
  }

  /// Runs a server around the test.
  static func run(
    _ database: TestDatabase = .sqlite, cognito: FakeCognito = FakeCognito(),
    now: @escaping @Sendable () -> Timestamp = { Timestamp(Date.now) },
    connections: Int = Limits.connections,
    log: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
    _ change: (inout AuthCore.Configuration) -> Void = { _ in },
    _ body: (TestServer) async throws -> Void
  ) async throws {
    var configuration = try AuthCore.Configuration.read([
      (
        name: "test",
        text: "[pool work]\nidentity_pool_id = \(poolID)\ndeveloper_provider = \(provider)\n"
          + "[pool other]\nidentity_pool_id = us-east-1:99\ndeveloper_provider = login.other.app\n"
      )
    ])
    configuration.listen = .network(host: "127.0.0.1", port: 0)
    configuration.adminListen = nil
    configuration.database = try database.make()
    configuration.registration = .open
    configuration.quota = 10_000
    change(&configuration)
    var options = Server.Options(configuration: configuration, log: log)
    options.cognito = cognito
    options.passwordLists = [PasswordList.path]
    options.takesSignals = false
    options.now = now
    options.connections = connections
    // The cheapest hash that libargon2 makes: the tests count hashes.
    options.hashing.memory = 64
    let (addresses, ready) = AsyncStream.makeStream(of: SocketAddress?.self)
    options.onReady = { ready.yield($0) }
    let server = try await Server(options)
    let running = Task {
      do { try await server.run() } catch is CancellationError {} catch {
        Issue.record("the server ended: \(error)")
        ready.finish()
      }
    }
    var iterator = addresses.makeAsyncIterator()
    let first = await iterator.next()
    let address = try #require(first)
    let scheme = configuration.tlsCertificate == nil ? "http" : "https"
    let store = try AuthStore(configuration.database)
    let test = TestServer(
      server: server, store: store, cognito: cognito,
      base: "\(scheme)://127.0.0.1:\(address?.port ?? 0)", http: try TestClient())
    do {
      try await body(test)
    } catch {
      await test.stop(running)
      throw error
    }
    await test.stop(running)
  }

  private func stop(_ running: Task<Void, Never>) async {
    await store.close()
    running.cancel()
    await running.value
  }

  func send(
    _ method: HTTPMethod = .POST, _ path: String, _ headers: [(String, String)] = [],
    body: String? = nil
  ) async throws -> Reply {
    try await send(method, path, headers, bytes: Array((body ?? "").utf8))
  }

  func send(
    _ method: HTTPMethod, _ path: String, _ headers: [(String, String)] = [], bytes: [UInt8]
  ) async throws -> Reply {
    let reply = try await http.send(
      method, path, to: TestClient.Origin(base),
      headers: HTTPHeaders([("Host", "server")] + headers), body: bytes)
    let text = String(decoding: reply.body, as: UTF8.self)
    return Reply(status: reply.status, headers: reply.headers, body: text)
  }

  func json(
    _ path: String, _ object: [String: Any], _ headers: [(String, String)] = []
  ) async throws -> Reply {
    let body = try JSONSerialization.data(withJSONObject: object)
    return try await send(
      .POST, path, [("Content-Type", "application/json")] + headers,
      body: String(decoding: body, as: UTF8.self))
  }

  /// Enrols a host, and returns its token.
  @discardableResult
  func enrol(
    _ name: String = "web1", vouches: String = "alice", signsIn: String = "zoe",
    link: Bool = false, adopt: Bool = false
  ) async throws -> String {
    var random = SystemRandomNumberGenerator()
    let token = Ticket(.host, random: &random)
    try await store.enrol(
      Enrolment(
        name: name,
        rights: HostRights(
          vouches: try Patterns(vouches), signsIn: try Patterns(signsIn), pools: ["work"],
          mayLink: link, mayAdoptGuests: adopt), created: Timestamp(Date.now)),
      token: token)
    return token.text
  }

  /// A token callback, as credd sends it.
  func callback(
    _ host: String?, _ user: String = "alice", session: String? = nil, identity: String? = nil,
    logins: [String: String]? = nil, pool: String = poolID, provider: String = provider,
    forced: Bool = false
  ) async throws -> Reply {
    var headers: [(String, String)] = []
    if let session {
      headers.append(("Authorization", "Bearer " + session))
      if let host { headers.append(("Credd-Host-Authorization", "Bearer " + host)) }
    } else if let host {
      headers.append(("Authorization", "Bearer " + host))
    }
    if forced { headers.append(("Cache-Control", "no-cache")) }
    var body: [String: Any] = [
      "IdentityPoolId": pool, "DeveloperProviderName": provider, "DeveloperUserIdentifier": user,
    ]
    if let identity { body["IdentityId"] = identity }
    if let logins { body["Logins"] = logins }
    return try await json("/v1/token", body, headers)
  }

  func register(_ name: String, _ password: String = "three plain words") async throws -> Reply {
    try await json("/v1/register", ["Username": name, "Password": password])
  }

  func login(
    _ host: String, _ name: String, _ password: String = "three plain words"
  ) async throws -> Reply {
    try await json(
      "/v1/login",
      ["Username": name, "Password": password, "DeveloperProviderName": Self.provider],
      [("Authorization", "Bearer " + host)])
  }

  func events(_ event: String? = nil) async throws -> [AuditEntry] {
    try await store.auditEntries(latest: 1000, AuditFilter(event: event))
  }
}
