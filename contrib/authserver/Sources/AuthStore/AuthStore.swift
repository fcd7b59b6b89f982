public import AuthCore

/// What a program may do with the database.
public enum StoreAccess: Sendable {
  /// `serve` and `migrate` alone make a database, and bring its schema up to date.
  case make
  case change
  /// Nothing is changed; the database may be a copy that nobody can write, or a stand-by.
  case read
}

/// Everything that the server keeps, on either database.
public struct AuthStore: Sendable {
  let database: any SQLDatabase

  public init(_ database: any SQLDatabase) { self.database = database }

  public init(
    _ configured: AuthCore.Configuration.Database, _ access: StoreAccess = .make
  ) throws {
    switch configured {
    case .sqlite(let path): database = try SQLiteDatabase(path: path, access)
    case .postgres(let url): database = PostgresDatabase(url: url, isReading: access == .read)
    }
  }

  /// Whether something can be written now.
  public func checkWritable(now: Timestamp) async throws {
    _ = try await database.write { connection in
      try connection.run(
        "INSERT INTO quota (name, level, updated) VALUES ('readiness', 0, ?) "
          + "ON CONFLICT (name) DO UPDATE SET updated = excluded.updated",
        .integer(now.milliseconds))
    }
  }

  /// Writes a copy of the state of one moment into an empty file that is open. Only SQLite does that.
  public func copy(to descriptor: Int32) async throws { try await database.copy(to: descriptor) }

  /// Keeps room on the disk for acts that take rights away.
  public func keepReserve() async { await database.keepReserve() }

  public func close() async { await database.close() }
}

/// How a host shows who it is.
public enum HostProof: Sendable, Equatable {
  case ticket(Ticket)
  case certificate(ClientCertificate)
}

/// A client certificate that the TLS of this server has checked, with one name.
public struct ClientCertificate: Sendable, Equatable {
  public let name: String
  public let notBefore: Timestamp
  /// Both in hexadecimal: by them the authority and the audit know it.
  public let serial: String
  public let fingerprint: String

  public init(name: String, notBefore: Timestamp, serial: String, fingerprint: String) {
    self.name = name
    self.notBefore = notBefore
    self.serial = serial
    self.fingerprint = fingerprint
  }
}

/// What the database knows about one callback, read at once.
public struct CallbackFacts: Sendable, Equatable {
  public var host: Enrolment
  public var session: SignInSession?
  public var user: UserRecord?
  public var identityID: String?
}

public struct UserRecord: Sendable, Equatable {
  public var identifier: String
  public var kind: Identifier.Kind
  /// The password's hash, or the salted password of the sample protocol.
  public var password: String?
  public var isDisabled: Bool
  public var created: Timestamp
}
