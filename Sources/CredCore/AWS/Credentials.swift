/// Temporary AWS credentials.
public struct Credentials: Sendable, Equatable {
  public var accessKeyID: String
  public var secretAccessKey: Secret
  public var sessionToken: Secret
  public var expiration: WallTime
  /// Twelve digits; known only where STS named the role that was assumed.
  public var accountID: String?

  public init(
    accessKeyID: String, secretAccessKey: Secret, sessionToken: Secret, expiration: WallTime,
    accountID: String? = nil
  ) {
    self.accessKeyID = accessKeyID
    self.secretAccessKey = secretAccessKey
    self.sessionToken = sessionToken
    self.expiration = expiration
    self.accountID = accountID
  }
}

/// What credentials must look like before anybody is handed them.
enum CredentialRules {
  /// Longer than any session AWS grants (12 h; 36 h for a federated user), so that a value in the
  /// wrong unit is found.
  static let longestLifetime = Duration.seconds(48 * 3600)

  /// `\w{16,128}` (STS API reference, Credentials).
  static func accessKeyID(_ text: String) throws(InvalidInput) -> String {
    guard (16...128).contains(text.utf8.count), text.containsOnlyLettersDigits(or: "_") else {
      throw InvalidInput(field: "AccessKeyId", reason: "is not 16 to 128 word characters")
    }
    return text
  }

  /// Printable ASCII without spaces: all that AWS's keys and tokens are made of.
  static func key(_ secret: Secret, _ field: String) throws(InvalidInput) -> Secret {
    guard !secret.isEmpty, secret.bytes.allSatisfy(\.isVisible) else {
      throw InvalidInput(field: field, reason: "is empty or not printable ASCII")
    }
    return secret
  }

  /// - Parameter now: the server's own time, where it gave one.
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

/// What an exchange gave.
public struct CredentialsReply: Sendable, Equatable {
  /// The identity the credentials are for, which may be another than the one asked with; nil where
  /// the service does not say (STS).
  public let identity: IdentityID?
  public let credentials: Credentials
  /// The server's clock at the answer, from its `Date`: the lifetime counts from it.
  public let serverTime: WallTime?

  public init(identity: IdentityID?, credentials: Credentials, serverTime: WallTime? = nil) {
    self.identity = identity
    self.credentials = credentials
    self.serverTime = serverTime
  }
}

/// An identity with the token that proves it.
public struct TokenReply: Sendable, Equatable {
  public let identity: IdentityID
  public let token: DeveloperToken
  /// The server's clock at the answer, from its `Date`.
  public let serverTime: WallTime?

  public init(identity: IdentityID, token: DeveloperToken, serverTime: WallTime? = nil) {
    self.identity = identity
    self.token = token
    self.serverTime = serverTime
  }
}
