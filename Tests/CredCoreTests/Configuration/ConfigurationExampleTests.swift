import Foundation
import TestSupport
import Testing

@testable import CredCore

/// The examples and the manual agree with the schema.
struct ConfigurationExampleTests {
  /// A configuration with one key of each kind on its own line.
  static let design = """
    [daemon]
    max_connections = 4096
    max_connections_per_user = 64
    admin_group = adm

    [backend corp]
    type = http                     ; http | exec | cognito | aws-sample
    url = https://auth.example.com/cognito/token     ; {user} {uid} {host} are substituted
    method = POST
    bearer_token_file = ${CREDENTIALS_DIRECTORY}/corp-token
    ca_file = /etc/ca.pem
    client_certificate = /etc/cert.pem
    client_key = /etc/key.pem
    unix_socket = /run/corp.sock
    header.X-Team = infra
    login_url = https://auth.example.com/login       ; only where users sign in with a password
    timeout = 5s

    [profile work]
    identity_pool_id = us-east-1:11111111-2222-3333-4444-555555555555   ; the region comes from it
    developer_provider = login.example.app
    backend = corp
    user_identifier = {user}
    flow = enhanced                 ; enhanced | basic
    role_arn = arn:aws:iam::123456789012:role/custom
    guest = no                      ; unauthenticated identities
    allow_users = alice bob
    allow_groups = developers
    allow_units = billing.service
    cognito_endpoint = http://127.0.0.1:4599
    """

  static let environment = ["CREDENTIALS_DIRECTORY": "/run/credentials/credd.service"]

  @Test func theDesignsExample() throws {
    let reading = reading(Self.design, environment: Self.environment)
    expect(reading.diagnostics, equals: [])
    let configuration = try #require(reading.configuration)
    var daemon = DaemonSettings()
    daemon.adminGroup = "adm"
    expect(configuration.daemon, equals: daemon)

    var http = HTTPBackendSettings(url: try URLTemplate("https://auth.example.com/cognito/token"))
    http.bearerTokenFile = "/run/credentials/credd.service/corp-token"
    http.caFile = "/etc/ca.pem"
    http.clientCertificate = "/etc/cert.pem"
    http.clientKey = "/etc/key.pem"
    http.unixSocket = "/run/corp.sock"
    http.headers = [HTTPHeader("X-Team", Secret("infra"))]
    http.loginURL = try URLTemplate("https://auth.example.com/login")
    expect(
      configuration.backends, equals: ["corp": BackendSettings(name: "corp", kind: http)])

    var pool = PoolSettings(id: examplePool)
    pool.developerProvider = "login.example.app"
    pool.session.roleARN = "arn:aws:iam::123456789012:role/custom"
    pool.cognitoEndpoint = try HTTPURL("http://127.0.0.1:4599")
    var work = ProfileSettings(name: "work", way: .pool(pool))
    work.backend = "corp"
    work.allowUsers = ["alice", "bob"]
    work.allowGroups = ["developers"]
    work.allowUnits = ["billing.service"]
    expect(configuration.profiles, equals: ["work": work])
    expect(configuration.backend(of: work)?.type, equals: .http)
    expect(pool.region, equals: "us-east-1")
  }

  private static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  static func shippedExample() throws -> [UInt8] {
    Array(try Data(contentsOf: root.appending(path: "contrib/credd.conf.example")))
  }

  @Test func theShippedExampleIsWithoutProblems() throws {
    let source = ConfigurationSource(name: "credd.conf.example", bytes: try Self.shippedExample())
    let reading = Configuration.read(
      [source], policyFile: { _ in .success(Array(narrowPolicy.utf8)) },
      environment: { Self.environment[$0] })
    expect(reading.diagnostics.map(\.description), equals: [])
    expect(
      reading.configuration?.profiles["default"]?.allowGroups,
      equals: ["developers", "domain users"])
  }

  @Test func theShippedExampleHasEveryKey() throws {
    var lines = INIReader()
    lines.read([ConfigurationSource(name: "", bytes: try Self.shippedExample())])
    for kind in SectionKind.allCases {
      let sections = lines.document.sections.filter { $0.words[0] == kind.rawValue }
      for key in ConfigurationSchema.references(of: kind) {
        let isShown = sections.contains { section in
          key.applies(to: section["type"].flatMap { BackendType(rawValue: $0.value) })
            && section.entries.contains { key.matches($0.key) }
        }
        expect(isShown, "\(kind.header) \(key.shown) \(key.types.map(\.rawValue))")
      }
    }
  }

  /// credd.conf(5) has every key of every type of backend, with its default, and no other key.
  @Test func theManualHasEveryKeyWithItsDefault() throws {
    let written = try Self.manualKeys()
    var known: Set<[String]> = []
    for kind in SectionKind.allCases {
      for key in ConfigurationSchema.references(of: kind) {
        let types = key.types.isEmpty ? [""] : key.types.map(\.rawValue)
        for type in types { known.insert([kind.rawValue, type, key.shown, key.standard ?? ""]) }
      }
    }
    expect(known.subtracting(written).sorted { $0.joined() < $1.joined() }, equals: [])
    expect(written.subtracting(known).sorted { $0.joined() < $1.joined() }, equals: [])
  }

  /// Section, type of backend, key and default of each key in credd.conf(5).
  private static func manualKeys() throws -> Set<[String]> {
    let page = try String(
      contentsOf: root.appending(path: "docs/man/credd.conf.5"), encoding: .utf8)
    var section = ""
    var type = ""
    var keys: Set<[String]> = []
    for line in page.split(separator: "\n") {
      if let match = line.wholeMatch(of: /\.Sh (DAEMON|BACKENDS|PROFILES|SOCKETS|.*)/) {
        section =
          [
            "DAEMON": "daemon", "BACKENDS": "backend", "PROFILES": "profile", "SOCKETS": "socket",
          ][match.1] ?? ""
        type = ""
      } else if let match = line.wholeMatch(of: /\.Ss type = (.*)/) {
        type = String(match.1)
      } else if let match = line.wholeMatch(of: /\.It Sy (\S+) No = .*?(?: Pq default: (.*))?/) {
        keys.insert([section, type, String(match.1), match.2.map(String.init) ?? ""])
      }
    }
    return keys
  }

  /// The defaults in the schema are the initial values of the settings.
  @Test func documentedDefaultsAreTheRealOnes() throws {
    func check<Settings>(_ keys: [ConfigurationKey<Settings>], _ settings: Settings) throws {
      for key in keys {
        guard let standard = key.reference.standard else { continue }
        var changed = settings
        try key.assign(
          ConfigurationValue(written: standard, environment: { _ in nil }), "", &changed)
        expect("\(changed)", equals: "\(settings)", "\(key.reference.name)")
      }
    }
    try check(ConfigurationSchema.daemon, DaemonSettings())
    try check(ConfigurationSchema.backend, BackendDraft())
    try check(ConfigurationSchema.profile, ProfileDraft(name: "p"))
    try check(
      ConfigurationSchema.socket,
      SocketSettings(
        path: UnixSocketPath("/run/a/sock"), position: SourcePosition(file: "", line: 1, source: 0))
    )
  }

  @Test func noKeyOccursTwice() {
    for kind in SectionKind.allCases {
      for type in BackendType.allCases.map(Optional.some) + [nil] {
        let names = ConfigurationSchema.references(of: kind).filter { $0.applies(to: type) }
          .map(\.name)
        expect(Set(names).count, equals: names.count)
      }
    }
  }

  @Test func settingsDifferAfterAChange() throws {
    let before = try #require(reading(Self.design, environment: Self.environment).configuration)
    let again = try #require(reading(Self.design, environment: Self.environment).configuration)
    expect(before, equals: again)
    let changed = try #require(
      reading(Self.design + "\nlogins_key = x", environment: Self.environment).configuration)
    expect(before.profiles != changed.profiles)
    expect(before.backends, equals: changed.backends)
  }
}
