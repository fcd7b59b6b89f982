/// The values of `kind`.
public enum TokenKind: String, Sendable, CaseIterable {
  /// Cognito Identity's token for a developer user.
  case developer
  /// A user pool's ID token, which tells other services who the user is.
  case id
  /// A user pool's access token, which tells other services what the user may do.
  case access
}
