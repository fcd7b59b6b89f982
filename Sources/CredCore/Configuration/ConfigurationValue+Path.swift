extension ConfigurationValue {
  /// An absolute path, with `${NAME}` replaced by what the environment holds. Messages do not
  /// repeat it: where a file with a token is asked for, somebody pastes the token.
  func path(limit: Int = ConfigurationLimits.pathBytes) throws(InvalidValue) -> String {
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

  /// The name of the first variable mentioned, for a key in which none is substituted.
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
      guard let value = environment(String(name)) else {
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

  /// What stands before and after the first `${`.
  private static func splitAtVariable(_ text: Substring) -> (before: Substring, after: Substring)? {
    var rest = text
    while let dollar = rest.firstIndex(of: "$") {
      rest = rest[dollar...].dropFirst()
      if rest.first == "{" { return (text[..<dollar], rest.dropFirst()) }
    }
    return nil
  }

  /// The name that `}` ends; nil if there is none.
  private static func variableName(at text: Substring) -> Substring? {
    guard let end = text.firstIndex(of: "}"), text[..<end].isVariableName else { return nil }
    return text[..<end]
  }

  private func hint(for name: Substring) -> String {
    name == "CREDENTIALS_DIRECTORY"
      ? " (systemd sets it for a unit with LoadCredential= or SetCredential=)" : ""
  }
}

extension StringProtocol {
  /// Whether this can name an environment variable.
  var isVariableName: Bool {
    guard let first = utf8.first, !first.isDigit else { return false }
    return utf8.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "_") }
  }
}
