/// What every backend is asked: a token for one user of one developer provider in one pool.
public struct TokenQuery: Sendable, Equatable {
  public var pool: IdentityPoolID
  public var developerProvider: String
  public var userIdentifier: String
  /// The identity the user is known to have, so that a guest's becomes the user's.
  public var identity: IdentityID?
  /// Social logins, for the backend to link.
  public var logins: LoginsMap

  public init(
    pool: IdentityPoolID, developerProvider: String, userIdentifier: String,
    identity: IdentityID? = nil, logins: LoginsMap = LoginsMap()
  ) {
    self.pool = pool
    self.developerProvider = developerProvider
    self.userIdentifier = userIdentifier
    self.identity = identity
    self.logins = logins
  }

  /// `{"IdentityPoolId","DeveloperProviderName","DeveloperUserIdentifier"}`, and `"IdentityId"` and
  /// `"Logins"` where there are any: what an HTTP callback and a command get.
  public var json: Secret {
    var writer = JSONWriter()
    writer.beginObject()
    writer.field("IdentityPoolId", pool.description)
    writer.field("DeveloperProviderName", developerProvider)
    writer.field("DeveloperUserIdentifier", userIdentifier)
    if let identity { writer.field("IdentityId", identity.description) }
    writer.logins(logins)
    writer.endObject()
    return Secret(writer.bytes)
  }
}
