/// A value as it stands in a file, to be read by its key's type.
///
/// Double quotes keep white space, commas, `;` and `#` as they are; within them `\"` and `\\` are
/// the only escapes. A value is quoted as a whole or not at all; where it is a list or a command,
/// that holds for each word. Outside quotes a backslash is itself.
struct ConfigurationValue {
  /// Trimmed, not empty, every quote closed.
  let written: String
  let environment: (String) -> String?

  /// The whole value.
  func text(mayBeEmpty: Bool = false) throws(InvalidValue) -> String {
    let bytes = Array(written.utf8)
    guard bytes.first == UInt8(ascii: "\"") else {
      guard !bytes.contains(UInt8(ascii: "\"")) else {
        throw InvalidValue("double quotes must enclose the whole value")
      }
      return written
    }
    var index = 0
    let text = try ConfigurationValue.unquote(bytes, &index)
    guard index == bytes.count else { throw InvalidValue("text follows the closing quote") }
    guard mayBeEmpty || !text.isEmpty else { throw InvalidValue("is empty") }
    return text
  }

  /// The words of a command, or of a list, where commas separate too.
  func words(separatedByCommas: Bool) throws(InvalidValue) -> [String] {
    let bytes = Array(written.utf8)
    let separates = { (byte: UInt8) in
      byte.isBlank || (separatedByCommas && byte == UInt8(ascii: ","))
    }
    var words: [String] = []
    var index = 0
    while index < bytes.count {
      if separates(bytes[index]) {
        index += 1
      } else if bytes[index] == UInt8(ascii: "\"") {
        words.append(try ConfigurationValue.unquote(bytes, &index))
        guard index == bytes.count || separates(bytes[index]) else {
          throw InvalidValue("text follows the closing quote of a word")
        }
      } else {
        let end = bytes[index...].firstIndex(where: separates) ?? bytes.count
        guard !bytes[index..<end].contains(UInt8(ascii: "\"")) else {
          throw InvalidValue("double quotes must enclose a whole word")
        }
        words.append(String(decoding: bytes[index..<end], as: UTF8.self))
        index = end
      }
    }
    guard !words.isEmpty else { throw InvalidValue("is empty") }
    return words
  }

  /// Reads the quoted text whose opening quote is at `index`, which moves behind the closing one.
  private static func unquote(_ bytes: [UInt8], _ index: inout Int) throws(InvalidValue) -> String {
    var text: [UInt8] = []
    index += 1
    while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
      if bytes[index] == UInt8(ascii: "\\") {
        index += 1
        guard index < bytes.count, [UInt8(ascii: "\""), UInt8(ascii: "\\")].contains(bytes[index])
        else { throw InvalidValue(#"within quotes '\' stands only before '"' or '\'"#) }
      }
      text.append(bytes[index])
      index += 1
    }
    guard index < bytes.count else { throw InvalidValue("a double quote is not closed") }
    index += 1
    return String(decoding: text, as: UTF8.self)
  }
}
