/// `account`: actions of a user on the account at the backend, not on the session here.
public struct AccountRequest: Sendable, Equatable {
  public var profile: String
  public var input: AccountInput
  /// For the triggers of a user pool; nil if the line has none.
  public var metadata: ClientMetadata?
  /// The same, for the first trigger of a sign-up alone.
  public var validationData: ClientMetadata?

  public init(
    profile: String = ProfileName.default, input: AccountInput, metadata: ClientMetadata? = nil,
    validationData: ClientMetadata? = nil
  ) {
    self.profile = profile
    self.input = input
    self.metadata = metadata
    self.validationData = validationData
  }
}
