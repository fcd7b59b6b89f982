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
