/// An identity pool's id, `region:uuid` (Cognito API reference, IdentityPoolId).
public struct IdentityPoolID: Sendable, Hashable, CustomStringConvertible {
  public let description: String

  /// - Throws: if Cognito would refuse it (`[\w-]+:[0-9a-f-]+`, at most 55 characters), or if its
  ///   region cannot be part of a host name.
  public init(_ text: String) throws(InvalidInput) {
    guard Self.isRegionalID(text), Self.isRegion(String(text.prefix { $0 != ":" })) else {
      throw InvalidInput(field: "IdentityPoolId", reason: "is not of the form REGION:UUID")
    }
    self.description = text
  }

  /// The region of the pool.
  public var region: String { String(description.prefix { $0 != ":" }) }

  /// The pattern of both kinds of ids.
  static func isRegionalID(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    guard bytes.count <= Limits.Upstream.identityIDLength,
      let colon = bytes.firstIndex(of: UInt8(ascii: ":"))
    else {
      return false
    }
    let suffix = bytes[(colon + 1)...]
    return colon > 0 && !suffix.isEmpty
      && text.prefix { $0 != ":" }.containsOnlyLettersDigits(or: "_-")
      && suffix.allSatisfy { $0.isDigit || "abcdef-".utf8.contains($0) }
  }

  /// Whether the text is lower-case letters, digits and hyphens with a letter first, as in a host
  /// name.
  static func isRegion(_ text: String) -> Bool {
    guard let first = text.utf8.first, first.isLowercase, text.utf8.count <= 32 else {
      return false
    }
    return !text.hasSuffix("-")
      && text.utf8.allSatisfy { $0.isLowercase || $0.isDigit || $0 == UInt8(ascii: "-") }
  }
}
