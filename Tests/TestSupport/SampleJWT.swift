import Foundation

/// JSON Web Tokens for tests. Their readers here do not check signatures.
package enum SampleJWT {
  /// - Parameter claims: a JSON object.
  package static func text(_ claims: String) -> String {
    let payload = Data(claims.utf8).base64EncodedString()
      .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    return "e30.\(payload).c2ln"
  }
}
