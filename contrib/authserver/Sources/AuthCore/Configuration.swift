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
    /// The server's name as clients spell it. It is part of what the server stores of a password.
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

  public func pool(withID id: String) -> Pool? {
    pools.values.first { $0.identityPoolID == id }
  }
}

/// Without the address of a database, because it may hold a password.
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

  /// Reads as much as can be read, beside the mistakes.
  ///
  /// - Returns: also whether the database is the database that is meant.
  public static func examine(
    _ files: [(name: String, text: String)], credentialsDirectory: String? = nil,
    hostName: String = "localhost"
  ) -> (configuration: Configuration, faults: [String], hasDatabase: Bool) {
    let sources = files.map { ConfigurationSource(name: $0.name, bytes: Array($0.text.utf8)) }
    // Commands of the administrator run in another environment than the server.
    let variable = "CREDENTIALS_DIRECTORY"
    let files = INIFiles(sources) { name throws(InvalidValue) in
      guard name == variable else {
        throw InvalidValue("names ${\(name)}: the only variable here is ${\(variable)}")
      }
      guard let credentialsDirectory else {
        throw InvalidValue("names ${\(variable)}, which systemd sets for LoadCredential= alone")
      }
      return credentialsDirectory
    }
    var reader = ConfigurationReader(hostName: hostName)
    reader.read(files)
    return (reader.configuration, reader.errors.map(\.visible), reader.hasDatabase)
  }
}
