/// The traits in which providers differ. Code that serves all providers asks for these.
public struct ProviderTraits: Sendable {
  /// The words that messages use for the provider.
  public struct Words: Sendable {
    /// `an` or `a`.
    let article: String
    let name: String
    /// The noun for "users sign in to a …".
    let short: String
    /// The noun for "the profile has a …".
    let own: String
  }

  let words: Words
  /// How users sign in there, for `status` and the audit.
  public let means: SignedIn.Means
  /// Whether credd asks users for a name and a password, and sends them there.
  let takesPasswords: Bool
  /// Whether every sign-in gives a refresh token. If not, a session may last only as long as its ID
  /// token.
  let alwaysGivesRefreshToken: Bool
  /// Whether a user name belongs to one user for ever. If not, people may change the name that is
  /// shown, and `sub` names the user of tokens.
  let keepsUsernames: Bool
  /// Whether a refresh token goes only to the token endpoint that gave it. If not, the host of the
  /// issuer is enough.
  let namesTokenEndpoint: Bool
  /// Whether the scope of an access token says if it may change the account. If not, perhaps only
  /// the provider can read the token.
  let marksAccountTokens: Bool
  /// Whether each renewal may give another refresh token. If not, the operation that renews
  /// decides.
  public let rotatesAlone: Bool
  /// Whether ending a sign-in does not affect other sign-ins of the same user.
  public let endsOneSignInAlone: Bool
  /// Whether the provider remembers hosts as devices of its users.
  public let remembersDevices: Bool
  /// The parameter for the redirect URI of the page that ends a browser's own session.
  public let logoutParameter: String
  /// Whether that page requires a redirect URI.
  public let logoutRequiresRedirectURI: Bool
  /// Why users can never sign in by device code; nil if they can.
  let lackOfDeviceCodes: String?
}
