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
