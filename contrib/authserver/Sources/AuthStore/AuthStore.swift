public import AuthCore

/// Everything that the server keeps, on either database.
public struct AuthStore: Sendable {
  let database: any SQLDatabase

  public init(_ database: any SQLDatabase) { self.database = database }

  public init(_ configured: AuthCore.Configuration.Database) throws {
    switch configured {
    case .sqlite(let path): database = try SQLiteDatabase(path: path)
    case .postgres(let url): database = PostgresDatabase(url: url)
    }
  }

  public func close() async { await database.close() }
}

/// How a host shows who it is.
public enum HostProof: Sendable, Equatable {
  case ticket(Ticket)
  /// The name in a client certificate that the TLS of this server has checked.
  case certificate(name: String)
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
