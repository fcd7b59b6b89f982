/// Texts of an ID token that came from the provider itself, for a name that AWS records.
public struct TokenClaims: Sendable {
  private let claims: JSONValue?

  public init(of token: Secret) {
    claims = JWT.claims(of: token)
  }

  /// An address and a number count only if the provider says that it has verified them: anybody may write
  /// another person's.
  func text(_ name: String) throws(TemplateError) -> String {
    guard let text = claims?[name]?.text else { throw .claimMissing(name) }
    let isVerified = claims?["\(name)_verified"]?.isTrue ?? false
    guard !["email", "phone_number"].contains(name) || isVerified else {
      throw .claimNotVerified(name)
    }
    return text
  }
}
