/// The two issuers of a user pool. Its administrator may switch between them at any time
/// (IssuerConfiguration, API_IssuerConfigurationType). The pool, its clients, users and keys stay
/// the same, so both issuers are one party. A renewal gives an ID token of the issuer that the pool
/// has at that time.
public struct PoolIssuers: Sendable, Hashable {
  public enum Form: Sendable, Hashable {
    /// `https://cognito-idp.REGION.SUFFIX/POOL`.
    case original
    /// `https://issuer-cognito-idp.REGION.SUFFIX/POOL`, which AWS recommends.
    case updated
  }

  private let documentedKey: String

  public init(_ pool: UserPoolID) {
    documentedKey = pool.loginsKey
  }

  /// Returns nil unless the text is exactly the issuer of a user pool. Another scheme, a host of
  /// another region than the pool's, a port, or a slash at the end makes it another issuer.
  public init?(_ issuer: String) {
    guard let id = issuer.split(separator: "/", omittingEmptySubsequences: false).last,
      let pool = try? UserPoolID(String(id))
    else { return nil }
    self.init(pool)
    guard form(of: issuer) != nil else { return nil }
  }

  /// Whether both are the same party: equal bytes, or issuers of one pool.
  public static func areSame(_ one: String, _ other: String) -> Bool {
    one.utf8.elementsEqual(other.utf8)
      || PoolIssuers(one).map { $0.form(of: other) != nil } ?? false
  }

  /// Which of the two an issuer is; nil if it belongs to another party.
  public func form(of issuer: String) -> Form? {
    [Form.original, .updated].first { issuer.utf8.elementsEqual(self.issuer($0).utf8) }
  }

  public func issuer(_ form: Form) -> String { "https://\(loginsKey(form))" }

  /// The key in the logins map of an identity pool. Cognito documents only the key of the original
  /// issuer (GetId, Logins). It does not say which key a pool with the updated issuer needs.
  public func loginsKey(_ form: Form) -> String {
    switch form {
    case .original: documentedKey
    case .updated: "issuer-\(documentedKey)"
    }
  }
}
