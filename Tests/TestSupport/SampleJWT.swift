import Foundation

/// JSON Web Tokens for tests. Their readers here do not check signatures.
package enum SampleJWT {
  /// - Parameters: JSON objects.
  package static func text(_ claims: String, header: String = "{}") -> String {
    [header, claims, "sig"].map { part in
      Data(part.utf8).base64EncodedString()
        .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }.joined(separator: ".")
  }
}
