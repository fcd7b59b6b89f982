internal import CredCore

/// The ids of pools, checked before they are written into a configuration.
enum MobileID {
  struct UserPool {
    let id: String
    /// Its key in the logins map.
    let loginsKey: String
  }

  /// - Parameter region: what the file says beside the id, which names its region itself.
  static func identityPool(
    _ id: ImportedText, region: ImportedText?
  ) throws(ImportError) -> String {
    guard let pool = try? IdentityPoolID(id.text) else {
      throw id.error("must be an identity pool's id, REGION:UUID")
    }
    try check(region, against: pool.region, "identity pool")
    return pool.description
  }

  /// `REGION_` and letters and digits, at most 55 characters (Cognito user pools API reference,
  /// UserPoolId).
  static func userPool(_ id: ImportedText, region: ImportedText?) throws(ImportError) -> UserPool {
    let parts = id.text.split(separator: "_", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, id.text.utf8.count <= 55, let own = parts.first,
      let endpoint = try? AWSEndpoint(.cognitoIdentity, region: own), !parts[1].isEmpty,
      parts[1].utf8.allSatisfy(isLetterOrDigit)
    else { throw id.error("must be a user pool's id, such as us-east-1_aB1cD2eF3") }
    try check(region, against: endpoint.region, "user pool")
    let suffix = AWSPartition(region: own).dnsSuffix
    return UserPool(id: id.text, loginsKey: "cognito-idp.\(own).\(suffix)/\(id.text)")
  }

  private static func check(
    _ region: ImportedText?, against own: String, _ what: String
  ) throws(ImportError) {
    guard let region, region.text != own else { return }
    throw region.error(
      "is \(region.text.quoted), but the \(what)'s id says \(own.quoted)")
  }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "A")...UInt8(ascii: "Z"):
      true
    default: false
    }
  }
}
