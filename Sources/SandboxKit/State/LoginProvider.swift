/// A public provider that a pool accepts.
struct LoginProvider: Sendable, Equatable {
  enum Kind: Sendable, Equatable {
    /// JSON Web Tokens: Google, Apple, Cognito user pools, OpenID Connect.
    case openID
    /// Access tokens that only the provider understands: Facebook, Amazon.
    case opaque
    /// Assertions, for a provider that is named by its ARN.
    case saml
  }

  let name: String
  /// The client id for which tokens are issued.
  let audience: String

  var kind: Kind {
    if name.hasPrefix("arn:"), name.contains(":saml-provider/") { return .saml }
    switch name {
    case "graph.facebook.com", "www.amazon.com", "api.twitter.com": return .opaque
    default: return .openID
    }
  }

  /// `iss` of the provider's tokens.
  var issuer: String { "https://" + name }
}
