/// A provider's issuer: the URL in the `iss` of its tokens, below which its discovery document is
/// (OpenID Connect Discovery 1.0, 4). It is compared byte for byte, including a slash at its end.
/// The two issuers of a user pool count as one (``PoolIssuers``).
public struct OIDCIssuer: Sendable, Hashable, CustomStringConvertible {
  public let description: String

  /// - Throws: unless the text is an https URL (or http on loopback) without a query that is not
  ///   too long.
  public init(_ text: String) throws(InvalidInput) {
    guard text.utf8.count <= Limits.OIDC.issuerBytes else {
      throw InvalidInput(
        field: "issuer", reason: "is longer than \(Limits.OIDC.issuerBytes) bytes")
    }
    let url: HTTPURL
    do throws(InvalidValue) {
      url = try HTTPURL(text)
    } catch {
      throw InvalidInput(field: "issuer", reason: "is no URL: \(error.message)")
    }
    guard url.query == nil else { throw InvalidInput(field: "issuer", reason: "has a query ('?')") }
    guard url.isEncrypted || url.isLoopback else {
      throw InvalidInput(field: "issuer", reason: "is no https:// URL")
    }
    description = text
  }

  /// Whether the provider runs on this host, as in tests.
  public var isLoopback: Bool { (try? HTTPURL(description))?.isLoopback ?? false }

  /// Whether the provider may run on this host: then its document may name this host, too.
  public var mayReachThisHost: Bool { (try? HTTPURL(description))?.mayReachThisHost ?? false }

  /// The URL of the discovery document.
  public var discoveryURL: String {
    "\(withoutLastSlash)/.well-known/openid-configuration"
  }

  /// The issuer's key in the logins map: the URL without scheme and without a slash at its end.
  /// With either of them, Cognito says "Issuer doesn't match providerName".
  public var loginsKey: String {
    let scheme = description.hasPrefix("https://") ? "https://" : "http://"
    return String(withoutLastSlash.dropFirst(scheme.count))
  }

  private var withoutLastSlash: Substring {
    description.hasSuffix("/") ? description.dropLast() : description[...]
  }

  /// Whether the issuer of a token or a document is this issuer: with equal bytes, or as the other
  /// issuer of the same user pool.
  func isEqual(to text: String) -> Bool { PoolIssuers.areSame(description, text) }

  /// The original issuer of the pool, if this is the updated one; else nil. The original issuer
  /// always has the discovery document. The host of the updated issuer answers 403 if the pool is
  /// set to the original one.
  public var originalOfPool: OIDCIssuer? {
    guard let pools = PoolIssuers(description), pools.form(of: description) == .updated else {
      return nil
    }
    return try? OIDCIssuer(pools.issuer(.original))
  }
}
