/// Base64 by its definition: four characters of six bits each are three bytes.
enum SecondBase64 {
  private static let common = Array(
    (SecondRules.lower.uppercased() + SecondRules.lower + SecondRules.digits).utf8)

  /// - Parameter last: the two characters after the letters and digits.
  static func decode(_ text: [UInt8], last: String) -> [UInt8]? {
    let alphabet = common + Array(last.utf8)
    let digits = text.prefix { $0 != UInt8(ascii: "=") }
    let padding = text.count - digits.count
    let values = digits.compactMap { alphabet.firstIndex(of: $0) }
    guard text.dropFirst(digits.count).allSatisfy({ $0 == UInt8(ascii: "=") }), padding <= 2,
      padding == 0 || text.count % 4 == 0, digits.count % 4 != 1, values.count == digits.count
    else { return nil }
    let whole = values + [Int](repeating: 0, count: (4 - values.count % 4) % 4)
    var bytes: [UInt8] = []
    for place in stride(from: 0, to: whole.count, by: 4) {
      let number = whole[place..<(place + 4)].reduce(0) { $0 * 64 + $1 }
      bytes += [number / 65_536, number / 256 % 256, number % 256].map { UInt8($0) }
    }
    return Array(bytes.prefix(digits.count * 6 / 8))
  }

  /// Without padding.
  static func encode(_ bytes: [UInt8], last: String) -> String {
    let alphabet = common + Array(last.utf8)
    let whole = bytes + [UInt8](repeating: 0, count: (3 - bytes.count % 3) % 3)
    var text: [UInt8] = []
    for place in stride(from: 0, to: whole.count, by: 3) {
      let number = whole[place..<(place + 3)].reduce(0) { $0 * 256 + Int($1) }
      text += [number / 262_144, number / 4096 % 64, number / 64 % 64, number % 64]
        .map { alphabet[$0] }
    }
    return String(decoding: text.prefix((bytes.count * 8 + 5) / 6), as: UTF8.self)
  }
}
