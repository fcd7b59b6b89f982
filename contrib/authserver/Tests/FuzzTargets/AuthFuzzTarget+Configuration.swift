import AuthCore
import FuzzTargets

extension AuthFuzzTarget {
  /// The file is root's own, so it has no second reading. What was read means the same when it is written.
  func judgeConfiguration(_ bytes: [UInt8]) -> Verdict {
    let text = String(decoding: bytes, as: UTF8.self)
    let (examined, faults, _) = Configuration.examine(
      [("fuzz", text)], credentialsDirectory: "/run/credentials")
    let configuration = Self.read(text)
    guard let configuration else {
      return .all(
        [.check(!faults.isEmpty, "refused without a fault")] + faults.map(Verdict.isPlain))
    }
    guard faults.isEmpty, configuration == examined else { return .fault("examined as another") }
    var again = Self.read(Self.written(configuration))
    // Networks are not written here.
    again?.proxies = configuration.proxies
    return .of("what is written", configuration, again)
  }

  private static func read(_ text: String) -> Configuration? {
    try? Configuration.read([("fuzz", text)], credentialsDirectory: "/run/credentials")
  }

  private static func quoted(_ text: String) -> String {
    "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
  }

  private static func written(_ listen: Configuration.ListenAddress) -> String {
    switch listen {
    case .network(let host, let port): (host.contains(":") ? "[\(host)]" : host) + ":\(port)"
    case .unixSocket(let path): path
    case .systemd: "systemd"
    }
  }

  private static func written(_ configuration: Configuration) -> String {
    let database =
      switch configuration.database {
      case .sqlite(let path): path
      case .postgres(let url): url
      }
    let server: [(String, String?)] = [
      ("listen", written(configuration.listen)),
      ("admin_listen", configuration.adminListen.map(written) ?? "none"),
      ("tls_certificate", configuration.tlsCertificate), ("tls_key", configuration.tlsKey),
      ("client_ca_file", configuration.clientCAFile), ("database", database),
      ("registration", configuration.registration.rawValue),
      ("session_lifetime", "\(configuration.sessionLifetime.milliseconds / 1000)s"),
      ("quota", "\(configuration.quota)/s"),
      ("shared_names", configuration.sharedNames ? "yes" : "no"),
    ]
    let aws: [(String, String?)] = [
      ("credentials_file", configuration.aws.credentialsFile),
      ("cognito_endpoint", configuration.aws.cognitoEndpoint),
    ]
    var text = section("server", server) + section("aws", aws)
    if let command = configuration.aws.credentialProcess {
      text += "credential_process = " + command.map(quoted).joined(separator: " ") + "\n"
    }
    for (name, pool) in configuration.pools {
      text += section(
        "pool \(name)",
        [
          ("identity_pool_id", pool.identityPoolID), ("developer_provider", pool.developerProvider),
          ("token_duration", "\(pool.tokenDuration.milliseconds / 1000)s"),
        ])
    }
    guard let sample = configuration.sample else { return text }
    return text
      + section(
        "sample",
        [("pool", sample.pool), ("app_name", sample.appName), ("host_name", sample.hostName)])
  }

  private static func section(_ title: String, _ values: [(String, String?)]) -> String {
    let lines = values.compactMap { key, value in value.map { "\(key) = \(quoted($0))\n" } }
    return "[\(title)]\n" + lines.joined()
  }
}

extension Dice {
  private static let serverLines = [
    "listen = 127.0.0.1:8443", "listen = *:443", "listen = [::1]:8443", "listen = systemd",
    "listen = /run/a.sock", "listen = h.example:1", "admin_listen = none",
    "admin_listen = /run/admin",
    "proxy_protocol_from = 192.0.2.0/24, unix", "proxy_protocol_from = 2001:db8::/33 10.0.0.1",
    "database = /var/lib/a b.db", "database = \"/a\\\"b\\\\c\"",
    "database = postgresql://u:p@127.0.0.1/db",
    "database = postgresql://u@db.example/d?sslmode=verify-full",
    "database = postgresql:///d?host=/run/x", "database = postgres://h1,h2:5/d?host=%2Frun",
    "registration = invite", "session_lifetime = 12h", "session_lifetime = 90d", "quota = 40/s",
    "quota = 7/s", "shared_names = yes", "client_ca_file = ${CREDENTIALS_DIRECTORY}/ca",
    "tls_certificate = /c\ntls_key = ${CREDENTIALS_DIRECTORY}/k",
  ]
  private static let awsLines = [
    "credentials_file = /etc/aws", "credential_process = /bin/cat \"a b\" c",
    "cognito_endpoint = http://127.0.0.1:1/", "cognito_endpoint = https://[::1]",
  ]
  private static let poolLines = ["token_duration = 15m", "token_duration = 24h"]
  private static let sampleLines = ["app_name = A.b", "host_name = \"auth é\""]

  mutating func serverConfiguration() -> String {
    var text = ""
    if !once(in: 4) { text += serverSection("server", Self.serverLines) }
    if once(in: 2) { text += serverSection("aws", Self.awsLines) }
    for (index, name) in ["work", "é", "x.2"].prefix(number(3) + 1).enumerated() {
      text += serverSection("pool " + name, Self.poolLines)
      text += "identity_pool_id = us-east-1:1\(index)\ndeveloper_provider = login.example.app\n"
    }
    if once(in: 4) { text += serverSection("sample", Self.sampleLines) + "pool = work\n" }
    return text
  }

  private mutating func serverSection(_ title: String, _ lines: [String]) -> String {
    var chosen: [String: String] = [:]
    for line in lines where once(in: 6) {
      chosen[String(line.prefix { $0 != "=" })] = line + (once(in: 60) ? pick(Self.oddTexts) : "")
    }
    return "[\(title)]\n" + chosen.sorted { $0.key < $1.key }.map { $0.value + "\n" }.joined()
  }
}
