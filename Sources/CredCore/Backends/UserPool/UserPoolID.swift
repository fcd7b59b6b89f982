/// A user pool's id, `region_name` (Cognito user pools API reference, UserPoolId). It is no secret.
public struct UserPoolID: Sendable, Hashable, CustomStringConvertible {
  public let description: String
  public let region: String
  /// The text after the first `_`: the pool's name in proofs.
  public let name: String

  /// - Throws: if Cognito would refuse it (`[\w-]+_[0-9a-zA-Z]+`, at most 55 characters), or if its
  ///   region cannot be part of a host name.
  public init(_ text: String) throws(InvalidInput) {
    let parts = text.split(separator: "_", maxSplits: 1, omittingEmptySubsequences: false)
    guard text.utf8.count <= Limits.UserPool.poolIDLength, parts.count == 2,
      IdentityPoolID.isRegion(String(parts[0])), !parts[1].isEmpty,
      parts[1].containsOnlyLettersDigits(or: "")
    else {
      throw InvalidInput(field: "UserPoolId", reason: "is not of the form REGION_NAME")
    }
    description = text
    region = String(parts[0])
    name = String(parts[1])
  }

  /// The pool's documented key in the logins map of an identity pool: its original issuer without
  /// `https://`.
  public var loginsKey: String {
    "cognito-idp.\(region).\(AWSPartition(region: region).dnsSuffix)/\(description)"
  }

  /// `iss` of the pool's tokens, unless the pool has the updated issuer (``PoolIssuers``).
  public var issuer: String { "https://\(loginsKey)" }
}

/// A key of a remembered device, `region_uuid` (API reference, DeviceKey). It is no secret.
enum DeviceKey {
  /// - Throws: if Cognito would refuse it: `[\w-]+_[0-9a-f-]+`, at most 55 characters.
  static func checked(_ text: String) throws(InvalidInput) -> String {
    let parts = text.split(separator: "_", omittingEmptySubsequences: false)
    guard text.utf8.count <= Limits.UserPool.deviceKeyLength, parts.count >= 2,
      let last = parts.last, !last.isEmpty, text.utf8.first != UInt8(ascii: "_"),
      last.utf8.allSatisfy({ $0.isDigit || "abcdef-".utf8.contains($0) }),
      text.containsOnlyLettersDigits(or: "_-")
    else { throw InvalidInput(field: "DeviceKey", reason: "is not of the form REGION_UUID") }
    return text
  }
}
