/// A length of time as options take it: seconds, to the millisecond as in the protocol.
public struct Seconds: Equatable, Sendable {
  public let milliseconds: Int

  public init(milliseconds: Int) {
    self.milliseconds = milliseconds
  }

  /// Reads up to six digits, and up to three more after a point: nothing that needs Foundation or
  /// rounding.
  public init?(_ text: String) {
    let parts = text.utf8.split(
      separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = parts.first, (1...6).contains(whole.count) else { return nil }
    var digits = Array(whole)
    if parts.count == 2 {
      guard (1...3).contains(parts[1].count) else { return nil }
      digits += parts[1]
    }
    var milliseconds = 0
    for place in 0..<(whole.count + 3) {
      let byte = place < digits.count ? digits[place] : UInt8(ascii: "0")
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
      milliseconds = milliseconds * 10 + Int(byte - UInt8(ascii: "0"))
    }
    self.milliseconds = milliseconds
  }

  /// The shortest whole number of seconds that is not less.
  public var roundedUp: Int { (milliseconds + 999) / 1000 }

  /// As a number in JSON: `5`, `0.25`.
  var json: [UInt8] {
    var digits = Array("\(milliseconds / 1000)".utf8)
    let fraction = milliseconds % 1000
    guard fraction > 0 else { return digits }
    digits.append(UInt8(ascii: "."))
    // The leading 1 keeps the zeros after the point.
    digits += "\(1000 + fraction)".utf8.dropFirst()
    while digits.last == UInt8(ascii: "0") { digits.removeLast() }
    return digits
  }
}
