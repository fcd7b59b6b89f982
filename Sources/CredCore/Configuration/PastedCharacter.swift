/// A character that web pages and word processors put in place of one of the keyboard. It looks right, and is
/// no quote, hyphen or blank to credd.
struct PastedCharacter {
  /// Counts characters from 1.
  let column: Int
  /// Names the character and says what to type instead.
  let message: String

  /// The first one of a line. Between double quotes a text is meant as it is.
  static func first(in line: ArraySlice<UInt8>) -> PastedCharacter? {
    guard line.contains(where: { $0 >= 0x80 }) else { return nil }
    var isQuoted = false
    for (index, scalar) in String(decoding: line, as: UTF8.self).unicodeScalars.enumerated() {
      if scalar == "\"" { isQuoted.toggle() }
      guard !isQuoted, let message = message(of: scalar) else { continue }
      return PastedCharacter(column: index + 1, message: "the line holds \(message)")
    }
    return nil
  }

  private static func message(of scalar: Unicode.Scalar) -> String? {
    let code = "U+" + scalar.code
    return switch scalar.value {
    case 0x2018...0x201F: "\(scalar) (\(code)), a quote of printed text: type \", or nothing"
    case 0x2010...0x2015, 0x2212: "\(scalar) (\(code)), a dash of printed text: type - or --"
    case 0xA0, 0x2000...0x200A, 0x202F, 0x205F, 0x3000:
      "a blank that is no space (\(code)): type one"
    case 0xAD, 0x200B, 0x2060, 0xFEFF: "an invisible character (\(code)): delete it"
    default: nil
    }
  }
}

extension Unicode.Scalar {
  /// The number as Unicode writes it: at least four hexadecimal digits.
  var code: String {
    let digits = String(value, radix: 16, uppercase: true)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }
}
