extension String {
  /// The text in double quotes for a message. A quote within the text is escaped as in JSON.
  ///
  /// Invisible characters, such as bidirectional controls, are escaped, and the text is cut after
  /// 64 characters. So a client's text can neither control a terminal nor fill a log.
  public var quoted: String { quoted(by: "\"") }

  /// The text in single quotes for a message about a configuration or a user; else like ``quoted``.
  public var singleQuoted: String { quoted(by: "'") }

  private func quoted(by quote: Unicode.Scalar) -> String {
    let length = 64
    var text = String(quote)
    for scalar in unicodeScalars.prefix(length) {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
        text += scalar.escaped(asASCII: true)
      default:
        if quote == "\"", scalar == quote || scalar == "\\" { text += "\\" }
        text.unicodeScalars.append(scalar)
      }
    }
    return text + (unicodeScalars.count > length ? "…" : "") + String(quote)
  }
}
