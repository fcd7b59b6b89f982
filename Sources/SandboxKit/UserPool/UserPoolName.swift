/// The id of a user pool, and the names that follow from it.
struct UserPoolName: Hashable, Sendable {
  let id: String

  /// The text after the first `_`, which the SRP arithmetic uses.
  var name: String { String(id.drop { $0 != "_" }.dropFirst()) }

  var region: String { String(id.prefix { $0 != "_" }) }

  /// The key in a logins map: host and path of `iss`.
  var provider: String {
    let suffix =
      switch region {
      case let region where region.hasPrefix("cn-"): "amazonaws.com.cn"
      case let region where region.hasPrefix("eusc-"): "amazonaws.eu"
      default: "amazonaws.com"
      }
    return "cognito-idp.\(region).\(suffix)/\(id)"
  }

  /// How a pool names itself in its tokens (IssuerConfiguration).
  enum IssuerType: String, Sendable, CaseIterable {
    case original = "ORIGINAL", updated = "UPDATED"
  }

  /// Host and path of the issuer that AWS recommends.
  var updatedProvider: String { "issuer-" + provider }

  func issuer(_ type: IssuerType) -> String {
    switch type {
    case .original: "https://" + provider
    case .updated: "https://" + updatedProvider
    }
  }

  /// Whether a token of the pool may name this issuer. The token may be older than the last switch
  /// of issuers.
  func isIssuer(_ text: String?) -> Bool {
    IssuerType.allCases.contains { issuer($0) == text }
  }

  /// Whether the id has the form `[\w-]+_[0-9a-zA-Z]+`.
  var isValid: Bool {
    let parts = id.split(separator: "_", maxSplits: 1, omittingEmptySubsequences: false)
    guard id.utf8.count <= 55, parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else {
      return false
    }
    return parts[0].utf8.allSatisfy { InputRule.isWord($0) || $0 == UInt8(ascii: "-") }
      && parts[1].utf8.allSatisfy { InputRule.isWord($0) && $0 != UInt8(ascii: "_") }
  }
}
