import Foundation
import SeededRandom
import TestSupport
import Testing

@testable import CredCore

/// Any bytes give a configuration or an error, never a crash.
struct ConfigurationMutationTests {
  @Test(arguments: 0..<8 as Range<UInt64>)
  func mutatedExamples(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let example = try ConfigurationExampleTests.shippedExample()
    let structural = Array("[]={}$\"\\;#\n\r \t,:/.%@\0\u{7F}\u{80}é".utf8) + [0xC0, 0xFF, 0xED]
    for _ in 0..<TestRounds.of(60) {
      var bytes = example
      for _ in 0..<Int.random(in: 1...12, using: &random) {
        let index = Int.random(in: bytes.indices, using: &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 1: bytes[index] = structural.randomElement(using: &random) ?? 0
        case 2: bytes.remove(at: index)
        case 3: bytes.insert(structural.randomElement(using: &random) ?? 0, at: index)
        default:
          let end = min(bytes.count, index + Int.random(in: 1...64, using: &random))
          bytes.append(contentsOf: bytes[index..<end])
        }
      }
      let reading = Configuration.read([ConfigurationSource(name: "f", bytes: bytes)]) {
        ConfigurationExampleTests.environment[$0]
      }
      let hasError = reading.diagnostics.contains { $0.severity == .error }
      expect((reading.configuration == nil), equals: hasError)
      for diagnostic in reading.diagnostics {
        let isShowable = diagnostic.description.unicodeScalars.allSatisfy {
          $0.properties.generalCategory != .control
        }
        expect(isShowable)
      }
    }
  }
}
