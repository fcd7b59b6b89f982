import CredCore

extension FuzzTarget {
  private static let variables = ["DIRECTORY": "/run/credentials", "A1_": "/a", "EMPTY": ""]

  /// No second reading: the file is root's own, and tests of CredCore hold each key and rule.
  func judgeConfiguration(_ bytes: [UInt8]) -> Verdict {
    let reading = Configuration.read([ConfigurationSource(name: "fuzz", bytes: bytes)]) {
      Self.variables[$0]
    }
    let hasErrors = reading.diagnostics.contains { $0.severity == .error }
    let lines = bytes.count { $0 == 0x0A } + 1
    return .all([
      .check((reading.configuration == nil) == hasErrors, "refused without an error"),
      .check(
        reading.diagnostics.allSatisfy { Self.isPlain($0.description) },
        "a diagnostic that does not show"),
      .check(
        reading.diagnostics.allSatisfy { (1...lines).contains($0.position?.line ?? 1) },
        "a diagnostic out of the file"),
      reading.configuration == nil ? .refused : .accepted,
    ])
  }

  private static func isPlain(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy {
      $0.properties.generalCategory != .control && $0.properties.generalCategory != .format
    }
  }
}
