/// A way in which a client can sign in. The raw values are those of the protocol.
public enum SignInMeans: String, Sendable {
  /// Users need not act: the backend trusts this host, or another program keeps a token fresh.
  case host
  /// A user name and a password.
  case password
  /// An IdentityId and a developer token.
  case token
  /// A browser on this host.
  case browser
  /// A browser on another device, whose last URL the user pastes.
  case paste
  /// A code that the user types on another device.
  case device
  /// Tokens of other providers.
  case logins
}
