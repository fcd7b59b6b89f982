import Foundation

/// Known answers of SRP and related functions in Cognito user pools:
/// Tests/Data/UserPools/vectors.json.
///
/// They were made by Python's own integers and checked with pycognito, warrant-lite, amplify-js and
/// aws-sdk-android. Numbers are lower-case hexadecimal digits without zeros in front.
package struct UserPoolVectors: Decodable, Sendable {
  package let N: String
  package let g: String
  package let k: String
  package let srp: [Exchange]
  package let deviceSrp: [Exchange]
  package let deviceVerifier: [DeviceVerifier]
  package let secretHash: [SecretHash]
  package let mustAbort: [PublicValues]
  package let padding: [Padding]

  /// A sign-in, of a user (pool, userIdForSrp) or of a device (deviceGroupKey, deviceKey).
  package struct Exchange: Decodable, Sendable, CustomStringConvertible {
    package let name: String
    package let pool: String?
    package let userIdForSrp: String?
    package let deviceGroupKey: String?
    package let deviceKey: String?
    package let password: String
    package let a: String
    package let A: String
    package let salt: String
    package let b: String?
    package let B: String
    package let secretBlock: String
    package let epoch: Int64
    package let timestamp: String
    package let x: String
    package let u: String
    package let S: String
    package let hkdfKey: String
    package let signature: String

    package var description: String { name }
  }

  package struct DeviceVerifier: Decodable, Sendable {
    package let deviceGroupKey: String
    package let deviceKey: String
    package let devicePassword: String
    package let salt: String
    package let verifier: String
    package let saltBase64: String
    package let passwordVerifierBase64: String
  }

  package struct SecretHash: Decodable, Sendable {
    package let username: String
    package let clientId: String
    package let clientSecret: String
    package let secretHash: String
  }

  /// Values with which neither a client nor a server may go on.
  package struct PublicValues: Decodable, Sendable {
    package let A: String
    package let B: String
  }

  package struct Padding: Decodable, Sendable {
    package let hex: String
    package let bytes: String
  }

  package static func read() throws -> UserPoolVectors {
    let file = URL(filePath: #filePath).appending(path: "../../Data/UserPools/vectors.json")
    return try JSONDecoder().decode(
      UserPoolVectors.self, from: Data(contentsOf: file.standardizedFileURL))
  }
}

/// Hexadecimal digits of a number; there may be an odd number of digits.
package enum HexadecimalNumber {
  package static func bytes(_ digits: String) -> [UInt8] {
    let even = digits.count.isMultiple(of: 2) ? digits : "0" + digits
    return stride(from: 0, to: even.count, by: 2).compactMap {
      UInt8(even.dropFirst($0).prefix(2), radix: 16)
    }
  }

  package static func digits(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
