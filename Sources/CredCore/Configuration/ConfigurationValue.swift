/// A value as written in a file, before the type of its key reads it.
///
/// Double quotes keep white space, commas, `;` and `#` as they are; within them `\"` and `\\` are
/// the only escapes. A value is quoted as a whole or not at all. In a list or a command, each word
/// is quoted or not. Outside quotes a backslash has no meaning.
struct ConfigurationValue {
  /// Trimmed and not empty; every quote is closed.
  let written: String
  let environment: (String) throws(InvalidValue) -> String?

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

  /// The words of a command or a list. Commas separate the words of a list too.
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

  /// Reads the quoted text at `index`, and moves `index` after the closing quote.
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

extension ConfigurationValue {
  /// An absolute path, with `${NAME}` replaced by the environment's value. Messages do not repeat
  /// the path: an operator may have pasted a token instead of the path of its file.
  func path(limit: Int = Limits.Configuration.pathBytes) throws(InvalidValue) -> String {
    let path = try substituted(text())
    guard path.utf8.first == UInt8(ascii: "/") else {
      throw InvalidValue("is not an absolute path")
    }
    guard path.utf8.count <= limit else {
      throw InvalidValue("the path is longer than \(limit) bytes")
    }
    guard path.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
      throw InvalidValue("the path holds a control character")
    }
    return path
  }

  /// The name of the first variable in the value, for a key without substitution.
  var mentionedVariable: Substring? {
    guard let (_, rest) = ConfigurationValue.splitAtVariable(written[...]) else { return nil }
    return ConfigurationValue.variableName(at: rest)
  }

  private func substituted(_ text: String) throws(InvalidValue) -> String {
    var result = ""
    var rest = text[...]
    while let (before, after) = ConfigurationValue.splitAtVariable(rest) {
      guard let name = ConfigurationValue.variableName(at: after) else {
        throw InvalidValue("'${' must be followed by a variable's name and '}'")
      }
      guard let value = try environment(String(name)) else {
        throw InvalidValue("the environment variable \(name) is not set" + hint(for: name))
      }
      guard !value.isEmpty else {
        throw InvalidValue("the environment variable \(name) is empty")
      }
      result += before + value
      rest = after.dropFirst(name.count + 1)
    }
    return result + rest
  }

  /// The texts before and after the first `${`.
  private static func splitAtVariable(_ text: Substring) -> (before: Substring, after: Substring)? {
    var rest = text
    while let dollar = rest.firstIndex(of: "$") {
      rest = rest[dollar...].dropFirst()
      if rest.first == "{" { return (text[..<dollar], rest.dropFirst()) }
    }
    return nil
  }

  /// The variable's name before the first `}`; nil if there is none.
  private static func variableName(at text: Substring) -> Substring? {
    guard let end = text.firstIndex(of: "}"), text[..<end].isVariableName else { return nil }
    return text[..<end]
  }

  private func hint(for name: Substring) -> String {
    name == "CREDENTIALS_DIRECTORY"
      ? " (systemd sets it for a unit with LoadCredential= or SetCredential=; if that was added while "
        + "credd runs: 'systemctl restart credd')" : ""
  }
}

extension StringProtocol {
  /// Whether this is a valid name of an environment variable.
  var isVariableName: Bool {
    guard let first = utf8.first, !first.isDigit else { return false }
    return utf8.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "_") }
  }
}
