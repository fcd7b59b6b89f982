import FoundationEssentials
import SeededRandom

/// Temporary credentials in AWS's form.
struct TemporaryCredentials: Sendable, Equatable {
  var accessKeyID: String
  var secretAccessKey: String
  var sessionToken: String
  var expiration: Date
}

/// Makes unique credentials in AWS's formats and lengths.
struct CredentialMint: Sendable {
  /// The owner of given credentials, for tests that ask whose they are.
  struct Grant: Sendable {
    var pool: String
    var identity: String
    /// The identity's logins when the credentials were given. Empty for a guest.
    var logins: Set<Login>
    var session: RoleSession
    /// Whether STS gave them, and not Cognito.
    var isOfSTS = false
    /// The access key by which they were asked for, of AssumeRole and GetScopedCredentials.
    var source: String?
    var expiration: Date
  }

  /// How many of the latest grants are remembered.
  static let maximumGrants = 4096

  /// Characters of a session token.
  var sessionTokenLength = 896
  private(set) var made = 0
  private var grants: [String: Grant] = [:]
  /// SecretAccessKey and SessionToken.
  private var secrets: [String: [String]] = [:]
  private var order: [String] = []

  func grant(of accessKeyID: String) -> Grant? { grants[accessKeyID] }

  /// The SecretAccessKey and the SessionToken that were given with an access key.
  func secrets(of accessKeyID: String) -> [String]? { secrets[accessKeyID] }

  /// - Parameter tokenLength: characters of the session token, where they are not the usual number.
  mutating func credentials(
    for grant: Grant, tokenLength: Int? = nil, random: inout SeededGenerator
  ) -> TemporaryCredentials {
    let base32 = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)
    let base64 = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    let opening = "IQoJb3JpZ2luX2Vj"
    let credentials = TemporaryCredentials(
      accessKeyID: "ASIA" + random.text(16, of: base32),
      // The secret must not begin like a path, so that a search in logs can distinguish the two.
      secretAccessKey: random.text(1, of: base64.dropLast()) + random.text(39, of: base64),
      sessionToken: opening
        + random.text(
          max(1, (tokenLength ?? sessionTokenLength) - opening.utf8.count - 2), of: base64) + "==",
      expiration: grant.expiration)
    remember(grant, as: credentials)
    made += 1
    return credentials
  }

  /// The grants are a ring, in which the oldest grant makes room.
  private mutating func remember(_ grant: Grant, as credentials: TemporaryCredentials) {
    let accessKeyID = credentials.accessKeyID
    if order.count < CredentialMint.maximumGrants {
      order.append(accessKeyID)
    } else {
      let slot = made % CredentialMint.maximumGrants
      (grants[order[slot]], secrets[order[slot]]) = (nil, nil)
      order[slot] = accessKeyID
    }
    grants[accessKeyID] = grant
    secrets[accessKeyID] = [credentials.secretAccessKey, credentials.sessionToken]
  }
}

/// A login of a user: a provider and the user's name there.
struct Login: Hashable, Sendable {
  var provider: String
  var subject: String
}

/// One identity of an identity pool.
struct Identity: Sendable {
  let id: String
  /// Developer and public logins alike. Empty for a guest.
  var logins: Set<Login> = []
  /// Whether the identity has lost its last login, which closes it for ever.
  var isClosed = false
  /// The identity into which this one was merged.
  var mergedInto: String?

  /// Whether no user ever signed in to the identity.
  var isGuest: Bool { logins.isEmpty && !isClosed && mergedInto == nil }
}
