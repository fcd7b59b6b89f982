import CredCore
import Testing

@testable import CredService

/// A service on a ``FakeHost``.
final class ServiceFixture {
  let host: FakeHost
  private(set) var service: SessionService
  private(set) var upstream: UpstreamClient
  /// Of processes that were killed; their clients may be there still.
  private var ended: [(SessionService, UpstreamClient)] = []

  /// - Parameter text: the configuration.
  init(_ text: String = Configured.usual(), host: FakeHost = FakeHost()) throws {
    self.host = host
    let configuration = try Self.resolved(text, host.queries)
    upstream = host.makeUpstreamClient(configuration.daemon)
    service = SessionService(host: host.host(upstream), configuration: configuration)
  }

  static func resolved(
    _ text: String, _ queries: FakeQueries = FakeQueries()
  ) throws -> ResolvedConfiguration {
    let source = ConfigurationSource(name: "credd.conf", bytes: Array(text.utf8))
    let reading = Configuration.read(
      [source],
      policyFile: { path in
        queries.files[path].map { .success(Array($0.utf8)) }
          ?? .failure(InvalidValue("cannot be read"))
      }, environment: { _ in nil })
    let configuration = try #require(reading.configuration, "\(reading.diagnostics)")
    return ResolvedConfiguration(configuration) { queries.group($0) }
  }

  var now: Instant { host.clock.now }

  func connect(
    uid: UInt32 = 1000, pid: Int32 = 42, groups: [UInt32] = [1000]
  ) -> TestClient {
    TestClient(
      service, host.clock, peer: Peer(uid: uid, gid: groups.first ?? 1000, pid: pid),
      groups: groups)
  }

  /// A request of a client that then leaves.
  func ask(
    _ line: String = "{}", uid: UInt32 = 1000, _ location: SourceLocation = #_sourceLocation
  ) throws -> Reply {
    try connect(uid: uid).ask(line, location)
  }

  /// `status` of a user's first session.
  func status(uid: UInt32 = 1000) throws -> JSONValue? {
    try ask(#"{"op":"status"}"#, uid: uid)["Sessions"]?[0]
  }

  func advance(by duration: Duration) { host.advance(by: duration) }

  /// Reloads with another configuration.
  @discardableResult
  func reload(_ text: String) throws -> ReloadOutcome {
    let configuration = try Self.resolved(text, host.queries)
    upstream.apply(configuration.daemon)
    defer { host.settle() }
    return service.apply(configuration)
  }

  /// The process is killed, and nothing that was under way comes back. The next one has the same
  /// store.
  func restart(_ text: String = Configured.usual()) throws {
    host.clock.disarmAll()
    host.background.dropAll()
    ended.append((service, upstream))
    let configuration = try Self.resolved(text, host.queries)
    upstream = host.makeUpstreamClient(configuration.daemon)
    service = SessionService(host: host.host(upstream), configuration: configuration)
  }
}

/// Texts of configurations.
enum Configured {
  /// One profile, whose user is always alice, with a backend that answers within two seconds.
  static func usual(profile: String = "", daemon: String = "", backend: String = "") -> String {
    http(daemon: daemon, backend: backend) + self.profile("default", profile)
  }

  /// A backend that wants a password.
  static func password(profile: String = "", backend: String = "") -> String {
    usual(
      profile: profile,
      backend:
        "login_url = http://127.0.0.1/login\nlogout_url = http://127.0.0.1/logout\n\(backend)")
  }

  static func http(
    daemon: String = "", backend: String = "", url: String = "http://127.0.0.1/token"
  )
    -> String
  {
    """
    [daemon]
    \(daemon)
    [backend corp]
    type = http
    url = \(url)
    timeout = 2s
    \(backend)

    """
  }

  /// A profile that is derived from another one.
  static func derived(_ name: String, from source: String = "work", _ keys: String) -> String {
    "[profile \(name)]\nsource_profile = \(source)\n\(keys)\n"
  }

  static func profile(
    _ name: String, identifier: String = "alice", _ keys: String = ""
  ) -> String {
    """
    [profile \(name)]
    identity_pool_id = \(FakeUpstreams.pool)
    developer_provider = login.example.app
    backend = corp
    user_identifier = \(identifier)
    cognito_endpoint = http://127.0.0.1:4599
    \(keys)

    """
  }
}
