import Foundation

/// What the secrets of the sandbox look like, whichever it handed out: for texts that must hold
/// none of them.
enum SecretShapes {
  private static let shapes: [(name: String, pattern: String)] = [
    ("a token", #"eyJ[A-Za-z0-9_-]{20}"#),
    ("a session token", "IQoJb3JpZ2luX2Vj"),
    // Accounts have actions of such names.
    ("a password", #"(?<![A-Za-z0-9-])(?!forgot|reset|change)[A-Za-z0-9]+-password\b"#),
    ("a password", "secret123"),
    ("a developer key", "sandbox-developer-secret"),
    ("a sign-in session", #"\b[A-Z2-7]{32,}\b"#),
    // 40 characters of base64 that are no path and no hash.
    (
      "a secret access key",
      #"(?<![A-Za-z0-9+/=._-])(?=[^\s]*[A-Z])(?=[^\s]*[a-z])(?!/)[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/._-])"#
    ),
  ]

  /// The names of the shapes that occur in a text.
  static func found(in text: String) -> [String] {
    shapes.filter { text.range(of: $0.pattern, options: .regularExpression) != nil }.map(\.name)
  }
}
