/// Names the open question of a sign-in: 128 random bits, 32 hexadecimal digits on the wire.
public struct ChallengeHandle: Sendable, Hashable {
  let high: UInt64
  let low: UInt64

  public init(using generator: inout some RandomNumberGenerator) {
    high = generator.next()
    low = generator.next()
  }

  /// Returns nil for any text that is no handle.
  public init?(_ text: String) {
    guard text.utf8.count == 32, text.utf8.allSatisfy({ $0.isDigit || (0x61...0x66).contains($0) }),
      let high = UInt64(text.prefix(16), radix: 16), let low = UInt64(text.suffix(16), radix: 16)
    else { return nil }
    self.high = high
    self.low = low
  }

  public var text: String {
    [high, low].map { word in
      let digits = String(word, radix: 16)
      return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }.joined()
  }
}

extension ChallengeHandle: Redacted {}
