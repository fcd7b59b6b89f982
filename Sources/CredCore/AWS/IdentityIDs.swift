/// An identity's id, `region:uuid` (Cognito API reference, IdentityId). It is no secret.
public struct IdentityID: Sendable, Hashable, CustomStringConvertible {
  public let description: String

  /// - Throws: where Cognito itself would refuse it: `[\w-]+:[0-9a-f-]+`, at most 55 characters.
  public init(_ text: String) throws(InvalidInput) {
    guard IdentityPoolID.isRegionalID(text) else {
      throw InvalidInput(field: "IdentityId", reason: "is not of the form REGION:UUID")
    }
    self.description = text
  }

  /// The region the identity lives in, which is that of its pool.
  public var region: String { String(description.prefix { $0 != ":" }) }
}

/// An identity pool's id, `region:uuid` (Cognito API reference, IdentityPoolId).
public struct IdentityPoolID: Sendable, Hashable, CustomStringConvertible {
  public let description: String

  /// - Throws: where Cognito itself would refuse it: `[\w-]+:[0-9a-f-]+`, at most 55 characters.
  public init(_ text: String) throws(InvalidInput) {
    guard Self.isRegionalID(text), Self.isRegion(String(text.prefix { $0 != ":" })) else {
      throw InvalidInput(field: "IdentityPoolId", reason: "is not of the form REGION:UUID")
    }
    self.description = text
  }

  /// The region the pool lives in.
  public var region: String { String(description.prefix { $0 != ":" }) }

  /// The pattern that ids of pools and of identities share.
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

  /// Lower-case letters, digits and hyphens, a letter first: safe as a label of a host name.
  static func isRegion(_ text: String) -> Bool {
    guard let first = text.utf8.first, first.isLowercase, text.utf8.count <= 32 else {
      return false
    }
    return !text.hasSuffix("-")
      && text.utf8.allSatisfy { $0.isLowercase || $0.isDigit || $0 == UInt8(ascii: "-") }
  }
}

/// Something that Cognito would refuse by its own documented rules, refused before any call.
public struct InvalidInput: Error, Equatable, CustomStringConvertible {
  /// What is wrong, in Cognito's or credd's own word for it.
  public let field: String
  /// Never quotes a secret.
  public let reason: String

  public init(field: String, reason: String) {
    self.field = field
    self.reason = reason
  }

  public var description: String { "\(field) \(reason)" }
}
