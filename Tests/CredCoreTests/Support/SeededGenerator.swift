import CredCore

/// SplitMix64 (Steele, Lea and Flood, 2014): the same sequence for a seed everywhere.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

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
