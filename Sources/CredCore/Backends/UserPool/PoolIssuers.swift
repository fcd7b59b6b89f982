/// The two issuers of a user pool, between which its administrator may switch at any time
/// (IssuerConfiguration, API_IssuerConfigurationType): the pool, its clients, users and keys stay the
/// same, so they are one party. A renewal gives the ID token of whatever the pool is set to then.
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

  /// Nil for an issuer that is no user pool's, to the byte: with another scheme, another host than that
  /// of the pool's region, a port, or a slash at its end.
  public init?(_ issuer: String) {
    guard let id = issuer.split(separator: "/", omittingEmptySubsequences: false).last,
      let pool = try? UserPoolID(String(id))
    else { return nil }
    self.init(pool)
    guard form(of: issuer) != nil else { return nil }
  }

  /// Whether both are the same party: equal to the byte, or issuers of one pool.
  public static func areSame(_ one: String, _ other: String) -> Bool {
    one.utf8.elementsEqual(other.utf8)
      || PoolIssuers(one).map { $0.form(of: other) != nil } ?? false
  }

  /// Which of the two an issuer is; nil if it is another party.
  public func form(of issuer: String) -> Form? {
    [Form.original, .updated].first { issuer.utf8.elementsEqual(self.issuer($0).utf8) }
  }

  public func issuer(_ form: Form) -> String { "https://\(loginsKey(form))" }

  /// The key in the logins map of an identity pool. Cognito documents that of the original issuer alone
  /// (GetId, Logins), and does not say which one it wants of a pool with the updated issuer.
  public func loginsKey(_ form: Form) -> String {
    switch form {
    case .original: documentedKey
    case .updated: "issuer-\(documentedKey)"
    }
  }
}
