/// The tokens that `token` may give to programs.
public enum VendedToken: String, Sendable, CaseIterable {
  case id
  case access
  /// In addition to `access`: also an access token that may change the user's account.
  case account
  /// Where `vend_credentials = no`: the developer token, by which its holder gets the wide role.
  case developer

  /// The kind of token; nil for `account`, which only extends `access`.
  var kind: TokenKind? {
    switch self {
    case .id: .id
    case .access: .access
    case .account: nil
    case .developer: .developer
    }
  }
}
