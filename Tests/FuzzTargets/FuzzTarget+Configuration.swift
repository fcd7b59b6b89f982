import CredCore

extension FuzzTarget {
  private static let variables = ["DIRECTORY": "/run/credentials", "A1_": "/a", "EMPTY": ""]

  func judgeConfiguration(_ bytes: [UInt8]) -> Verdict {
    let reading = Configuration.read([ConfigurationSource(name: "fuzz", bytes: bytes)]) {
      Self.variables[$0]
    }
    let second = SecondConfiguration(bytes) { Self.variables[$0] }?.settings
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
      compare(reading, second),
    ])
  }

  private static func isPlain(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy {
      $0.properties.generalCategory != .control && $0.properties.generalCategory != .format
    }
  }

  private func compare(_ reading: ConfigurationReading, _ second: [String: String]?) -> Verdict {
    switch (reading.configuration, second) {
    case (nil, nil): return .refused
    case (nil, _): return .fault("refused, though valid: \(reading.diagnostics)")
    case (_, nil): return .fault("accepted, though the second reading refuses it")
    case (let configuration?, let second?):
      let shown = SecondConfiguration.shown(configuration)
      let other = Set(shown.keys).union(second.keys).sorted().first { shown[$0] != second[$0] }
      guard let other else { return .accepted }
      return .fault(
        "\(other) is \(shown[other] ?? "nothing"), by the second reading \(second[other] ?? "nothing")"
      )
    }
  }
}
