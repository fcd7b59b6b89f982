/// A fast generator for values that only have to differ. Seeded, so that a test can repeat a run.
public struct SplitMix64: RandomNumberGenerator, Sendable {
  private var state: UInt64

  public init(seed: UInt64) {
    state = seed
  }

  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }

  /// A text of so many characters of an alphabet.
  mutating func text(_ count: Int, of alphabet: [UInt8]) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    for _ in 0..<count {
      // The bias of the remainder is of no weight here.
      bytes.append(alphabet[Int(next() % UInt64(alphabet.count))])
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// A version 4 UUID in lower case.
  mutating func uuid() -> String {
    let digits = Array(text(32, of: Array("0123456789abcdef".utf8)))
    func part(_ range: Range<Int>) -> String { String(digits[range]) }
    let variant = ["8", "9", "a", "b"][Int(next() % 4)]
    return "\(part(0..<8))-\(part(8..<12))-4\(part(13..<16))-\(variant)\(part(17..<20))"
      + "-\(part(20..<32))"
  }
}
