import CredCore
import Foundation
import Testing

@testable import FuzzTargets

/// The fuzzer's initial inputs and those that once broke a reader, each also with random damage.
struct CorpusTests {
  private static let corpus = URL(filePath: #filePath)
    .appending(path: "../../Fuzz/corpus").standardizedFileURL

  private func inputs(_ target: FuzzTarget) throws -> [[UInt8]] {
    let folder = Self.corpus.appending(path: target.rawValue)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    return try names.map { Array(try Data(contentsOf: folder.appending(path: $0))) }
  }

  @Test(arguments: FuzzTarget.allCases)
  func everyCorpusInputIsReadCorrectly(_ target: FuzzTarget) throws {
    let inputs = try inputs(target)
    #expect(!inputs.isEmpty)
    for input in inputs { #expect(target.fault(reading: input) == nil) }
  }

  @Test(arguments: FuzzTarget.allCases)
  func damagedInputsAreReadCorrectly(_ target: FuzzTarget) throws {
    let inputs = try inputs(target)
    let seed = UInt64.random(in: 0..<1 << 32)
    var generator = Damage(seed: seed)
    for _ in 0..<300 {
      var input = generator.pick(inputs)
      for _ in 0..<generator.number(4) + 1 { generator.damage(&input, generator.pick(inputs)) }
      guard let fault = target.fault(reading: input) else { continue }
      Issue.record("\(target) with seed \(seed): \(fault): \(Data(input).base64EncodedString())")
    }
  }
}

/// Damages bytes at random.
struct Damage {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed
  }

  /// Uniform in `0..<limit` (Steele, Lea and Flood, 2014).
  mutating func number(_ limit: Int) -> Int {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return Int((mixed ^ (mixed >> 31)) >> 1) % max(limit, 1)
  }

  mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[number(elements.count)]
  }

  mutating func damage(_ bytes: inout [UInt8], _ other: [UInt8]) {
    let place = number(bytes.count + 1)
    let end = min(bytes.count, place + number(20) + 1)
    switch number(6) {
    case 0 where place < bytes.count: bytes[place] ^= 1 << UInt8(number(8))
    case 1 where place < bytes.count: bytes[place] = UInt8(number(256))
    case 2: bytes.removeSubrange(place..<end)
    case 3: bytes.insert(contentsOf: Array(bytes[place..<end]), at: place)
    case 4: bytes.removeSubrange(place...)
    default:
      let from = number(other.count + 1)
      let piece = other[from..<min(other.count, from + number(40) + 1)]
      bytes.insert(contentsOf: Array(piece), at: place)
    }
  }
}
