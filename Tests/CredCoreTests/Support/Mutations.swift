import CredCore
import SeededRandom

extension SeededGenerator {
  /// A text in which one to four places were changed: a byte replaced, removed or inserted, the end
  /// cut off, or the beginning repeated.
  mutating func mutate(_ text: String) -> Secret {
    var bytes = Array(text.utf8)
    for _ in 0...Int.random(in: 0...3, using: &self) where !bytes.isEmpty {
      let index = Int.random(in: 0..<bytes.count, using: &self)
      switch Int.random(in: 0...4, using: &self) {
      case 0: bytes[index] = UInt8.random(in: .min ... .max, using: &self)
      case 1: bytes.remove(at: index)
      case 2: bytes.removeSubrange(index...)
      case 3: bytes.insert(contentsOf: bytes.prefix(index), at: index)
      default: bytes[index] = "\"{}[],:<>&;=.0e-\\".utf8.randomElement(using: &self) ?? 0
      }
    }
    return Secret(bytes)
  }
}
