import CredCore

/// What the configuration file says.
public struct Configuration: Sendable, Equatable {
  public enum Registration: String, Sendable, CaseIterable {
    case closed, invite, open
  }

  public enum ListenAddress: Sendable, Equatable {
    case network(host: String, port: Int)
    case unixSocket(path: String)
    /// The sockets that systemd passed.
    case systemd
  }

  /// Balancers, which say with PROXY protocol who their clients are.
  public struct Proxies: Sendable, Equatable {
    public var networks: [IPNetwork] = []
    /// Whoever connects to a Unix socket.
    public var isUnixSocket = false

    public init() {}
  }

  public enum Database: Sendable, Equatable {
    case sqlite(path: String)
    case postgres(url: String)
  }

  public struct Pool: Sendable, Equatable {
    public var name: String
    public var identityPoolID: String
    public var developerProvider: String
    public var tokenDuration: Interval
  }

  public struct Sample: Sendable, Equatable {
    public var pool: String
    public var appName: String
    /// The server's name as clients spell it; part of what is stored of a password.
    public var hostName: String
  }

  public struct AWS: Sendable, Equatable {
    public var credentialsFile: String?
    /// Words of a command; no shell reads them.
    public var credentialProcess: [String]?
    public var cognitoEndpoint: String?
  }

  public var listen = ListenAddress.network(host: "127.0.0.1", port: 8443)
  public var adminListen: ListenAddress? = .network(host: "127.0.0.1", port: 9464)
  public var proxies = Proxies()
  public var tlsCertificate: String?
  public var tlsKey: String?
  public var clientCAFile: String?
  public var database = Database.sqlite(path: "/var/lib/credd-authserver/auth.db")
  public var registration = Registration.closed
  public var sessionLifetime = Interval.hours(12)
  /// Calls of GetOpenIdTokenForDeveloperIdentity a second.
  public var quota = 40
  public var sharedNames = false
  public var aws = AWS()
  public var pools: [String: Pool] = [:]
  public var sample: Sample?

  public init() {}

  /// An address: a name that only begins like one is anybody's.
  public static func isLoopback(_ host: String) -> Bool {
    if host == "::1" || host == "localhost" { return true }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
  }

  public func pool(withID id: String) -> Pool? {
    pools.values.first { $0.identityPoolID == id }
  }
}

/// Without the address of a database, which may hold its password.
extension Configuration.Database: CustomStringConvertible, CustomDebugStringConvertible {
  public var description: String {
    switch self {
    case .sqlite(let path): path
    case .postgres: "PostgreSQL"
    }
  }

  public var debugDescription: String { description }
}

/// All that is wrong with a configuration, one line each.
public struct ConfigurationErrors: Error, Equatable, CustomStringConvertible {
  public let lines: [String]
  public var description: String { lines.joined(separator: "\n") }
}

extension Configuration {
  /// - Parameters:
  ///   - files: names, for messages, and their texts.
  ///   - credentialsDirectory: stands for `${CREDENTIALS_DIRECTORY}`.
  ///   - hostName: this machine's name.
  public static func read(
    _ files: [(name: String, text: String)], credentialsDirectory: String? = nil,
    hostName: String = "localhost"
  ) throws(ConfigurationErrors) -> Configuration {
    let (configuration, faults, _) = examine(
      files, credentialsDirectory: credentialsDirectory, hostName: hostName)
    guard faults.isEmpty else { throw ConfigurationErrors(lines: faults) }
    return configuration
  }

  /// The same with all that could be read beside the mistakes.
  ///
  /// - Returns: also whether the database is the one that is meant.
  public static func examine(
    _ files: [(name: String, text: String)], credentialsDirectory: String? = nil,
    hostName: String = "localhost"
  ) -> (configuration: Configuration, faults: [String], hasDatabase: Bool) {
    let sources = files.map { ConfigurationSource(name: $0.name, bytes: Array($0.text.utf8)) }
    var reader = ConfigurationReader(
      files: INIFiles(sources), credentialsDirectory: credentialsDirectory, hostName: hostName)
    reader.read()
    return (reader.configuration, reader.errors, reader.hasDatabase)
  }
}

private struct ConfigurationReader {
  let files: INIFiles
  let credentialsDirectory: String?
  let hostName: String
  var configuration = Configuration()
  var errors: [String] = []
  /// False where one is named that cannot be.
  var hasDatabase = true

  static let keys: [String: [String]] = [
    "server": [
      "listen", "admin_listen", "proxy_protocol_from", "tls_certificate", "tls_key",
      "client_ca_file", "database",
      "registration", "session_lifetime", "quota", "shared_names",
    ],
    "aws": ["credentials_file", "credential_process", "cognito_endpoint"],
    "pool": ["identity_pool_id", "developer_provider", "token_duration"],
    "sample": ["pool", "app_name", "host_name"],
  ]

  mutating func read() {
    errors = files.diagnostics.map(\.description)
    for section in files.sections {
      let kind = section.words.first ?? ""
      guard let keys = Self.keys[kind], section.words.count == (kind == "pool" ? 2 : 1) else {
        errors.append(
          "\(section.position): unknown section \(section.title)"
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

  private mutating func fault(_ entry: INIFiles.Entry, _ what: String) {
    errors.append("\(entry.position): '\(entry.key)' \(what)")
  }

  /// A value without its quotes.
  private mutating func text(_ key: String, _ section: INIFiles.Section) -> String? {
    guard let entry = section[key] else { return nil }
    do throws(InvalidValue) { return try entry.text() } catch {
      fault(entry, error.message)
      return nil
    }
  }

  /// A value that a closure can read.
  private mutating func take<T>(
    _ key: String, _ section: INIFiles.Section, _ expected: String, _ read: (String) -> T?
  ) -> T? {
    guard let entry = section[key], let text = text(key, section) else { return nil }
    if let value = read(text) { return value }
    // The address of a database may hold its password.
    fault(entry, key == "database" ? "is not \(expected)" : "is '\(text)', not \(expected)")
    return nil
  }

  private mutating func file(_ key: String, _ section: INIFiles.Section) -> String? {
    guard let entry = section[key], let path = text(key, section) else { return nil }
    let variable = "${CREDENTIALS_DIRECTORY}"
    guard path.hasPrefix(variable) else { return path }
    guard let folder = credentialsDirectory else {
      fault(entry, "names \(variable), which systemd sets for LoadCredential= alone")
      return nil
    }
    return folder + path.dropFirst(variable.count)
  }

  private mutating func readServer(_ section: INIFiles.Section) {
    let address = "ADDRESS:PORT, *:PORT, the path of a Unix socket, or systemd"
    if let listen = take("listen", section, address, Self.address) { configuration.listen = listen }
    if text("admin_listen", section) == "none" {
      configuration.adminListen = nil
    } else if let listen = take(
      "admin_listen", section, "ADDRESS:PORT, the path of a Unix socket, or none",
      { Self.address($0).flatMap { $0 == .systemd ? nil : $0 } })
    {
      configuration.adminListen = listen
    }
    if let proxies = take(
      "proxy_protocol_from", section, "addresses, as 192.0.2.1 or 192.0.2.0/24, or unix",
      Self.proxies)
    {
      configuration.proxies = proxies
    }
    configuration.tlsCertificate = file("tls_certificate", section)
    configuration.tlsKey = file("tls_key", section)
    configuration.clientCAFile = file("client_ca_file", section)
    if let database = take(
      "database", section, "a path from the root, or postgresql://… with sslmode=verify-full",
      Self.database)
    {
      configuration.database = database
    } else {
      hasDatabase = section["database"] == nil
    }
    if let registration = take(
      "registration", section, "closed, invite or open", Configuration.Registration.init(rawValue:))
    {
      configuration.registration = registration
    }
    if let lifetime = take(
      "session_lifetime", section, "between 1m and 90d, as 12h",
      { Interval($0).flatMap { (.minutes(1)...Interval.days(90)).contains($0) ? $0 : nil } })
    {
      configuration.sessionLifetime = lifetime
    }
    if let quota = take("quota", section, "calls a second from 1/s to 10000/s, as 40/s", Self.quota)
    {
      configuration.quota = quota
    }
    if let shared = take("shared_names", section, "yes or no", Self.flag) {
      configuration.sharedNames = shared
    }
    if (configuration.tlsCertificate == nil) != (configuration.tlsKey == nil) {
      errors.append("\(section.position): tls_certificate and tls_key belong together")
    }
    if configuration.clientCAFile != nil, configuration.tlsCertificate == nil {
      errors.append(
        "\(section.position): client_ca_file wants tls_certificate: client certificates count only "
          + "from TLS that this server ends")
    }
  }

  private mutating func readAWS(_ section: INIFiles.Section) {
    configuration.aws.credentialsFile = file("credentials_file", section)
    configuration.aws.credentialProcess = command("credential_process", section)
    configuration.aws.cognitoEndpoint = take(
      "cognito_endpoint", section, "https://HOST[:PORT], or http://… on loopback", Self.endpoint)
    if configuration.aws.credentialsFile != nil, configuration.aws.credentialProcess != nil {
      errors.append(
        "\(section.position): credentials_file and credential_process exclude each other")
    }
  }

  private mutating func command(_ key: String, _ section: INIFiles.Section) -> [String]? {
    guard let entry = section[key] else { return nil }
    do throws(InvalidValue) {
      let words = try entry.words(separatedByCommas: false)
      if words.first?.hasPrefix("/") == true { return words }
      fault(entry, "is not an absolute path and its arguments")
    } catch {
      fault(entry, error.message)
    }
    return nil
  }

  private mutating func readPool(_ section: INIFiles.Section) {
    let name = section.words[1]
    var pool = Configuration.Pool(
      name: name, identityPoolID: "", developerProvider: "", tokenDuration: .minutes(15))
    if let id = take(
      "identity_pool_id", section, "an IdentityPoolId, as us-east-1:11111111-2222-…",
      { CognitoSyntax.isID($0) ? $0 : nil })
    {
      pool.identityPoolID = id
    }
    if let provider = take(
      "developer_provider", section, "a developer provider's name",
      { CognitoSyntax.isDeveloperProvider($0) ? $0 : nil })
    {
      pool.developerProvider = provider
    }
    if let duration = take(
      "token_duration", section, "between 1m and 24h, as 15m",
      { Interval($0).flatMap { (.minutes(1)...Interval.hours(24)).contains($0) ? $0 : nil } })
    {
      pool.tokenDuration = duration
    }
    for key in ["identity_pool_id", "developer_provider"] where section[key] == nil {
      errors.append("\(section.position): \(section.title) has no \(key)")
    }
    if !pool.identityPoolID.isEmpty,
      let other = configuration.pool(withID: pool.identityPoolID)
    {
      errors.append("\(section.position): [pool \(other.name)] has the same identity_pool_id")
    }
    configuration.pools[name] = pool
  }

  private mutating func readSample(_ section: INIFiles.Section) {
    guard let pool = text("pool", section) else {
      errors.append("\(section.position): [sample] has no pool")
      return
    }
    configuration.sample = Configuration.Sample(
      pool: pool,
      appName: text("app_name", section) ?? SampleProtocol.defaultAppName,
      hostName: text("host_name", section) ?? hostName)
  }

  /// What only all sections together show.
  private mutating func check() {
    if configuration.pools.isEmpty, errors.isEmpty {
      errors.append(
        "it is not configured yet: there is no [pool NAME], and tokens are for identity pools; "
          + "authserver.md shows one")
    }
    if let admin = configuration.adminListen, Self.meet(configuration.listen, admin) {
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
      !Configuration.isLoopback(host)
    {
      errors.append(
        "listen = \(host) without tls_certificate: hosts' tokens are taken only over TLS, on "
          + "loopback or on a Unix socket")
    }
  }
}

extension ConfigurationReader {
  /// Whether one of the two could not be bound beside the other.
  private static func meet(
    _ one: Configuration.ListenAddress, _ other: Configuration.ListenAddress
  ) -> Bool {
    switch (one, other) {
    case (.unixSocket(let path), .unixSocket(let second)): return path == second
    case (.network(let host, let port), .network(let second, let other))
    where port == other && port != 0:
      let all = ["0.0.0.0", "::", "*"]
      return host == second || all.contains(host) || all.contains(second)
    default: return false
    }
  }

  private static func flag(_ text: String) -> Bool? {
    text == "yes" ? true : text == "no" ? false : nil
  }

  private static func proxies(_ text: String) -> Configuration.Proxies? {
    var proxies = Configuration.Proxies()
    for word in text.split(whereSeparator: { ", \t".contains($0) }) {
      if word == "unix" {
        proxies.isUnixSocket = true
      } else if let network = IPNetwork(word) {
        proxies.networks.append(network)
      } else {
        return nil
      }
    }
    return proxies
  }

  private static func quota(_ text: String) -> Int? {
    guard text.hasSuffix("/s"), let rate = Int(text.dropLast(2)), (1...10_000).contains(rate) else {
      return nil
    }
    return rate
  }

  private static func address(_ text: String) -> Configuration.ListenAddress? {
    if text == "systemd" { return .systemd }
    if text.hasPrefix("/") { return text.utf8.count < 108 ? .unixSocket(path: text) : nil }
    guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
      (0...65535).contains(port)
    else { return nil }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    return host.isEmpty ? nil : .network(host: String(host), port: port)
  }

  private static func endpoint(_ text: String) -> String? {
    let url = text.hasSuffix("/") ? String(text.dropLast()) : text
    for scheme in ["https://", "http://"] where url.hasPrefix(scheme) {
      let authority = url.dropFirst(scheme.count)
      guard !authority.isEmpty, !authority.contains(where: { "/?#@ ".contains($0) }) else {
        return nil
      }
      let host = authority.hasPrefix("[") ? "::1" : String(authority.prefix { $0 != ":" })
      return scheme == "https://" || Configuration.isLoopback(host) ? url : nil
    }
    return nil
  }

  /// To another machine only with the server's certificate checked, and its name.
  private static func database(_ text: String) -> Configuration.Database? {
    if text.hasPrefix("/") { return .sqlite(path: text) }
    guard text.hasPrefix("postgresql://") || text.hasPrefix("postgres://") else { return nil }
    let rest = text.drop { $0 != ":" }.dropFirst(3)
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    let parameters = text.split(separator: "?", maxSplits: 1).dropFirst().first.map {
      $0.split(separator: "&").map(String.init)
    }
    let named = (parameters ?? []).filter { $0.hasPrefix("host=") || $0.hasPrefix("hostaddr=") }
      .map { $0.drop { $0 != "=" }.dropFirst() }
    let addressed = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
    guard let hosts = machines(addressed, hasPorts: true),
      let others = machines(named.joined(separator: ","), hasPorts: false)
    else { return nil }
    let isLocal = (hosts + others).allSatisfy { Configuration.isLoopback($0) || $0.hasPrefix("/") }
    let names = (parameters ?? []).map { String($0.prefix { $0 != "=" }) }
    // libpq takes the last of two, reads names that are percent-encoded, and a service of a file.
    guard Set(names).count == names.count, !names.contains(where: { $0.contains("%") }),
      !names.contains("service"), !names.contains("servicefile")
    else { return nil }
    let mode = parameters?.first { $0.hasPrefix("sslmode=") }
    if isLocal { return .postgres(url: text) }
    guard let mode else {
      return .postgres(url: text + (parameters == nil ? "?" : "&") + "sslmode=verify-full")
    }
    return mode == "sslmode=verify-full" ? .postgres(url: text) : nil
  }

  /// The machines of a list, as libpq reads it: decoded first, and then cut at commas. Nil where it
  /// cannot be decoded.
  private static func machines(_ list: some StringProtocol, hasPorts: Bool) -> [String]? {
    guard let text = list.percentDecoded() else { return nil }
    return text.split(separator: ",").map { host in
      guard hasPorts else { return String(host) }
      return String(
        host.hasPrefix("[") ? host.dropFirst().prefix { $0 != "]" } : host.prefix { $0 != ":" })
    }
  }
}
