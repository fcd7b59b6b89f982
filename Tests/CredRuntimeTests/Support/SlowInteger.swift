/// Whole numbers for the server's side of SRP, written for these tests: slow, and not OpenSSL's.
struct SlowInteger: Equatable {
  /// The least significant first, without zeros at the end.
  private(set) var words: [UInt64]

  init(words: [UInt64]) {
    var words = words
    while words.last == 0 { words.removeLast() }
    self.words = words
  }

  init(bigEndian bytes: [UInt8]) {
    var words = [UInt64](repeating: 0, count: (bytes.count + 7) / 8)
    for (index, byte) in bytes.reversed().enumerated() {
      words[index / 8] |= UInt64(byte) << (8 * UInt64(index % 8))
    }
    self.init(words: words)
  }

  func bigEndian(_ count: Int) -> [UInt8] {
    (0..<count).reversed().map { index in
      index / 8 < words.count
        ? UInt8(truncatingIfNeeded: words[index / 8] >> (8 * UInt64(index % 8))) : 0
    }
  }

  var bitWidth: Int { words.count * 64 - (words.last?.leadingZeroBitCount ?? 0) }

  func bit(_ index: Int) -> Bool {
    index / 64 < words.count && words[index / 64] >> UInt64(index % 64) & 1 == 1
  }

  static func + (one: SlowInteger, other: SlowInteger) -> SlowInteger {
    var sum: [UInt64] = []
    var carry = false
    for index in 0...max(one.words.count, other.words.count) {
      let (first, a) = one[word: index].addingReportingOverflow(other[word: index])
      let (second, b) = first.addingReportingOverflow(carry ? 1 : 0)
      sum.append(second)
      carry = a || b
    }
    return SlowInteger(words: sum)
  }

  /// The difference; `other` is not greater.
  static func - (one: SlowInteger, other: SlowInteger) -> SlowInteger {
    var difference: [UInt64] = []
    var borrow = false
    for index in one.words.indices {
      let (first, a) = one.words[index].subtractingReportingOverflow(other[word: index])
      let (second, b) = first.subtractingReportingOverflow(borrow ? 1 : 0)
      difference.append(second)
      borrow = a || b
    }
    return SlowInteger(words: difference)
  }

  static func >= (one: SlowInteger, other: SlowInteger) -> Bool {
    if one.words.count != other.words.count { return one.words.count > other.words.count }
    return !one.words.reversed().lexicographicallyPrecedes(other.words.reversed())
  }

  private subscript(word index: Int) -> UInt64 { index < words.count ? words[index] : 0 }
}

/// Arithmetic modulo an odd number, by Montgomery's method.
struct SlowModulus {
  let modulus: SlowInteger
  private let width: Int
  /// `-modulus^-1` modulo 2^64.
  private let inverse: UInt64
  /// `2^(2 * 64 * width)` modulo the modulus.
  private let square: SlowInteger

  init(_ modulus: SlowInteger) {
    self.modulus = modulus
    width = modulus.words.count
    let low = modulus.words[0]
    // Newton's iteration doubles the number of right bits.
    var inverse: UInt64 = 1
    for _ in 0..<6 { inverse = inverse &* (2 &- low &* inverse) }
    self.inverse = 0 &- inverse
    var power = SlowInteger(words: [1])
    for _ in 0..<(128 * modulus.words.count) {
      power = power + power
      if power >= modulus { power = power - modulus }
    }
    square = power
  }

  func reduced(_ number: SlowInteger) -> SlowInteger {
    // Bit by bit, so that any length will do.
    var rest = SlowInteger(words: [])
    for index in (0..<number.bitWidth).reversed() {
      rest = rest + rest
      if number.bit(index) { rest = rest + SlowInteger(words: [1]) }
      if rest >= modulus { rest = rest - modulus }
    }
    return rest
  }

  func product(_ one: SlowInteger, _ other: SlowInteger) -> SlowInteger {
    montgomery(montgomery(one, other), square)
  }

  func power(_ base: SlowInteger, _ exponent: SlowInteger) -> SlowInteger {
    let base = montgomery(base, square)
    var power = montgomery(SlowInteger(words: [1]), square)
    for index in (0..<exponent.bitWidth).reversed() {
      power = montgomery(power, power)
      if exponent.bit(index) { power = montgomery(power, base) }
    }
    return montgomery(power, SlowInteger(words: [1]))
  }

  /// `one * other / 2^(64 * width)`.
  private func montgomery(_ one: SlowInteger, _ other: SlowInteger) -> SlowInteger {
    let one = padded(one)
    let (other, modulus) = (padded(other), modulus.words)
    var sum = [UInt64](repeating: 0, count: width + 2)
    for i in 0..<width {
      Self.add(one[i], other, to: &sum)
      Self.add(sum[0] &* inverse, modulus, to: &sum)
      sum.removeFirst()
      sum.append(0)
    }
    let result = SlowInteger(words: sum)
    return result >= self.modulus ? result - self.modulus : result
  }

  private func padded(_ number: SlowInteger) -> [UInt64] {
    number.words + [UInt64](repeating: 0, count: width - number.words.count)
  }

  private static func add(_ factor: UInt64, _ words: [UInt64], to sum: inout [UInt64]) {
    var carry: UInt64 = 0
    for index in words.indices {
      let (high, low) = factor.multipliedFullWidth(by: words[index])
      let (first, a) = sum[index].addingReportingOverflow(low)
      let (second, b) = first.addingReportingOverflow(carry)
      sum[index] = second
      carry = high &+ (a ? 1 : 0) &+ (b ? 1 : 0)
    }
    var index = words.count
    while carry != 0 {
      let (value, overflow) = sum[index].addingReportingOverflow(carry)
      sum[index] = value
      carry = overflow ? 1 : 0
      index += 1
    }
  }
}
