import CredCore

/// Reads sections into a configuration, and notes all that is wrong with them.
struct ConfigurationReader {
  let hostName: String
  private(set) var configuration = Configuration()
  private(set) var errors: [String] = []
  /// False if `database` has a value that is refused. Then the default stands in its place.
  private(set) var hasDatabase = true

  private static let keys: [String: [String]] = [
    "server": [
      "listen", "admin_listen", "proxy_protocol_from", "tls_certificate", "tls_key",
      "client_ca_file", "database",
      "registration", "session_lifetime", "quota", "shared_names",
    ],
    "aws": ["credentials_file", "credential_process", "cognito_endpoint"],
    "pool": ["identity_pool_id", "developer_provider", "token_duration"],
    "sample": ["pool", "app_name", "host_name"],
  ]

  init(hostName: String) { self.hostName = hostName }

  mutating func read(_ files: INIFiles) {
    errors = files.diagnostics.map(\.description)
    for section in files.sections {
      let kind = section.words.first ?? ""
      guard let keys = Self.keys[kind], section.words.count == (kind == "pool" ? 2 : 1) else {
        fault(
          section,
          "unknown section \(section.title)"
            + (kind == "pool"
              ? "; a pool has one name"
              : NearestName.suggestion(kind, in: Self.keys.keys.sorted())))
        continue
      }
      for entry in section.entries where !keys.contains(entry.key) {
        errors.append(
          "\(entry.position): unknown key '\(entry.key)' in \(section.title)"
            + NearestName.suggestion(entry.key, in: keys))
      }
      switch kind {
      case "server": readServer(section)
      case "aws": readAWS(section)
      case "pool": readPool(section)
      default: readSample(section)
      }
    }
    check()
  }

  private mutating func fault(_ section: INIFiles.Section, _ what: String) {
    errors.append("\(section.position): \(what)")
  }

  /// Nil if the key is missing, or its value is wrong.
  private mutating func value<Value>(
    _ key: String, _ section: INIFiles.Section, _ syntax: ValueSyntax<Value>
  ) -> Value? {
    guard let entry = section[key] else { return nil }
    do throws(InvalidValue) { return try entry.read(syntax) } catch {
      errors.append("\(entry.position): \(key): \(error.message)")
      return nil
    }
  }

  private mutating func assign<Value>(
    _ key: String, _ section: INIFiles.Section, _ syntax: ValueSyntax<Value>,
    to property: WritableKeyPath<Configuration, Value>
  ) {
    if let value = value(key, section, syntax) { configuration[keyPath: property] = value }
  }

  private mutating func readServer(_ section: INIFiles.Section) {
    assign("listen", section, .address, to: \.listen)
    assign("admin_listen", section, .addressOrNone, to: \.adminListen)
    readProxies(section)
    configuration.tlsCertificate = value("tls_certificate", section, .path)
    configuration.tlsKey = value("tls_key", section, .path)
    configuration.clientCAFile = value("client_ca_file", section, .path)
    readDatabase(section)
    assign("registration", section, .choice, to: \.registration)
    if let lifetime = value("session_lifetime", section, .seconds(60...90 * 86_400)) {
      configuration.sessionLifetime = Interval(lifetime)
    }
    assign("quota", section, .callsASecond, to: \.quota)
    assign("shared_names", section, .yesNo, to: \.sharedNames)
    if (configuration.tlsCertificate == nil) != (configuration.tlsKey == nil) {
      fault(section, "tls_certificate and tls_key belong together")
    }
    if configuration.clientCAFile != nil, configuration.tlsCertificate == nil {
      fault(
        section,
        "client_ca_file wants tls_certificate: client certificates count only from TLS that this "
          + "server ends")
    }
  }

  private mutating func readProxies(_ section: INIFiles.Section) {
    guard let entry = section["proxy_protocol_from"] else { return }
    do throws(InvalidValue) {
      for word in try entry.words(separatedByCommas: true) {
        if word == "unix" {
          configuration.proxies.isUnixSocket = true
        } else if let network = IPNetwork(word) {
          configuration.proxies.networks.append(network)
        } else {
          throw InvalidValue("'\(word)' is not an address, as 192.0.2.1 or 192.0.2.0/24, or unix")
        }
      }
    } catch {
      errors.append("\(entry.position): \(entry.key): \(error.message)")
    }
  }

  private mutating func readDatabase(_ section: INIFiles.Section) {
    guard let entry = section["database"] else { return }
    do throws(InvalidValue) {
      configuration.database = try Configuration.Database(try entry.text())
    } catch {
      errors.append("\(entry.position): \(entry.key): \(error.message)")
      hasDatabase = false
    }
  }

  private mutating func readAWS(_ section: INIFiles.Section) {
    configuration.aws.credentialsFile = value("credentials_file", section, .path)
    configuration.aws.credentialProcess = value("credential_process", section, .command)
    configuration.aws.cognitoEndpoint = value("cognito_endpoint", section, .cognito)
    if configuration.aws.credentialsFile != nil, configuration.aws.credentialProcess != nil {
      fault(section, "credentials_file and credential_process exclude each other")
    }
  }

  private mutating func readPool(_ section: INIFiles.Section) {
    let name = section.words[1]
    var pool = Configuration.Pool(
      name: name, identityPoolID: value("identity_pool_id", section, .poolID) ?? "",
      developerProvider: value("developer_provider", section, .developerProvider) ?? "",
      tokenDuration: .minutes(15))
    if let duration = value("token_duration", section, .seconds(60...86_400)) {
      pool.tokenDuration = Interval(duration)
    }
    for key in ["identity_pool_id", "developer_provider"] where section[key] == nil {
      fault(section, "\(section.title) has no \(key)")
    }
    if !pool.identityPoolID.isEmpty,
      let other = configuration.pool(withID: pool.identityPoolID)
    {
      fault(section, "[pool \(other.name)] has the same identity_pool_id")
    }
    configuration.pools[name] = pool
  }

  private mutating func readSample(_ section: INIFiles.Section) {
    guard let pool = value("pool", section, .text("a pool") { _ in true }) else {
      if section["pool"] == nil { fault(section, "[sample] has no pool") }
      return
    }
    configuration.sample = Configuration.Sample(
      pool: pool,
      appName: value("app_name", section, .text("a name") { _ in true })
        ?? SampleProtocol.defaultAppName,
      hostName: value("host_name", section, .text("a name") { _ in true }) ?? hostName)
  }

  /// What only all sections together show.
  private mutating func check() {
    if configuration.pools.isEmpty, errors.isEmpty {
      errors.append(
        "it is not configured yet: there is no [pool NAME], and tokens are for identity pools; "
          + "authserver.md shows one")
    }
    if let admin = configuration.adminListen, configuration.listen.meets(admin) {
      errors.append("listen and admin_listen are one address: clients would meet the metrics there")
    }
    if let sample = configuration.sample {
      if configuration.pools[sample.pool] == nil {
        errors.append("[sample]: there is no [pool \(sample.pool)]")
      }
      if configuration.tlsCertificate == nil {
        errors.append("[sample] wants tls_certificate: its protocol is for TLS only")
      }
    }
    if case .network(let host, _) = configuration.listen, configuration.tlsCertificate == nil,
      !HTTPURL.isLoopback(host: host)
    {
      errors.append(
        "listen = \(host) without tls_certificate: hosts' tokens are taken only over TLS, on "
          + "loopback or on a Unix socket")
    }
  }
}
