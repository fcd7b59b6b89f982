/// A provider's issuer: the URL that its tokens name in `iss`, and under which its discovery document
/// is (OpenID Connect Discovery 1.0, 4). It is compared byte for byte, its last slash included; the two
/// of a user pool are one (``PoolIssuers``).
public struct OIDCIssuer: Sendable, Hashable, CustomStringConvertible {
  public let description: String

  /// - Throws: if it is no https URL (http on loopback) without a query, or too long.
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

  /// Whether the provider runs on this host, as for tests.
  public var isLoopback: Bool { (try? HTTPURL(description))?.isLoopback ?? false }

  /// Where its discovery document is.
  public var discoveryURL: String {
    "\(withoutLastSlash)/.well-known/openid-configuration"
  }

  /// Its key in the logins map: without scheme and last slash. With either, Cognito says
  /// "Issuer doesn't match providerName".
  public var loginsKey: String {
    let scheme = description.hasPrefix("https://") ? "https://" : "http://"
    return String(withoutLastSlash.dropFirst(scheme.count))
  }

  private var withoutLastSlash: Substring {
    description.hasSuffix("/") ? description.dropLast() : description[...]
  }

  /// Whether a token's or a document's issuer is this one: to the byte, or the other issuer of the same
  /// user pool.
  func isEqual(to text: String) -> Bool { PoolIssuers.areSame(description, text) }

  /// The original issuer of the pool, where this is the updated one; else nil. Its discovery document is
  /// there whatever the pool is set to, and the host of the updated one answers 403 for a pool that has
  /// the original issuer.
  public var originalOfPool: OIDCIssuer? {
    guard let pools = PoolIssuers(description), pools.form(of: description) == .updated else {
      return nil
    }
    return try? OIDCIssuer(pools.issuer(.original))
  }
}
