/// Temporary AWS credentials.
public struct Credentials: Sendable, Equatable {
  public var accessKeyID: String
  public var secretAccessKey: Secret
  public var sessionToken: Secret
  public var expiration: WallTime
  /// Twelve digits; nil unless STS named the assumed role.
  public var accountID: String?
  /// Nil unless STS named the session.
  @Boxed public var session: STSSession? = nil

  public init(
    accessKeyID: String, secretAccessKey: Secret, sessionToken: Secret, expiration: WallTime,
    accountID: String? = nil, session: STSSession? = nil
  ) {
    self.accessKeyID = accessKeyID
    self.secretAccessKey = secretAccessKey
    self.sessionToken = sessionToken
    self.expiration = expiration
    self.accountID = accountID
    self.session = session
  }
}

/// STS's facts about the session to which credentials belong.
public struct STSSession: Sendable, Equatable {
  /// `arn:PARTITION:sts::ACCOUNT:assumed-role/ROLE/SESSION`.
  public var arn: String
  /// Scope-down policies of the session.
  public var scopes = 0
  /// How full the session token is, in percent; nil if STS did not say it.
  public var tokenUtilization: Int?
  /// The key that signed the call; nil if none did.
  public var sourceAccessKeyID: String?
  /// SHA-256 of the policy that was sent, in hexadecimal digits; nil without one.
  public var policySHA256: String?

  public init(arn: String, scopes: Int = 0) {
    self.arn = arn
    self.scopes = scopes
  }
}

/// Checks of credentials in a reply.
enum CredentialRules {
  /// Longer than any session of AWS (12 h; 36 h for a federated user). A longer lifetime shows that
  /// a value has the wrong unit.
  static let longestLifetime = Duration.seconds(48 * 3600)

  /// `\w{16,128}` (STS API reference, Credentials).
  static func accessKeyID(_ text: String) throws(InvalidInput) -> String {
    guard (16...128).contains(text.utf8.count), text.containsOnlyLettersDigits(or: "_") else {
      throw InvalidInput(field: "AccessKeyId", reason: "is not 16 to 128 word characters")
    }
    return text
  }

  /// Printable ASCII without spaces: AWS's keys and tokens have no other characters.
  static func key(_ secret: Secret, _ field: String) throws(InvalidInput) -> Secret {
    guard !secret.isEmpty, secret.bytes.allSatisfy(\.isVisible) else {
      throw InvalidInput(field: field, reason: "is empty or not printable ASCII")
    }
    return secret
  }

  /// - Parameter now: the server's time; nil if the reply has none.
  static func expiration(_ time: WallTime?, at now: WallTime?) throws(InvalidInput) -> WallTime {
    guard let time else {
      throw InvalidInput(field: "Expiration", reason: "is missing or not a time")
    }
    if let now, time <= now || time - now > longestLifetime {
      throw InvalidInput(field: "Expiration", reason: "is over already or absurdly far away")
    }
    return time
  }
}

/// The result of an exchange.
public struct CredentialsReply: Sendable, Equatable {
  /// The identity of the credentials, which may differ from the request's identity; nil if the
  /// service does not return it (STS).
  public let identity: IdentityID?
  public let credentials: Credentials
  /// The server's time, from the reply's `Date`: the lifetime counts from it.
  public let serverTime: WallTime?

  public init(identity: IdentityID?, credentials: Credentials, serverTime: WallTime? = nil) {
    self.identity = identity
    self.credentials = credentials
    self.serverTime = serverTime
  }
}

/// An identity with its token.
public struct TokenReply: Sendable, Equatable {
  public let identity: IdentityID
  public let token: DeveloperToken
  /// The server's time, from the reply's `Date`.
  public let serverTime: WallTime?

  public init(identity: IdentityID, token: DeveloperToken, serverTime: WallTime? = nil) {
    self.identity = identity
    self.token = token
    self.serverTime = serverTime
  }
}
