extension String {
  /// The text in double quotes for an error message, as JSON has it; see ``shown(in:)``.
  public var quotedForMessage: String { shown(in: "\"") }

  /// The text in single quotes for a message about a configuration; see ``shown(in:)``.
  var forMessage: String { shown(in: "'") }

  /// The text in quotes: what does not show (a bidirectional control, say) is escaped, what follows
  /// the 64th character is cut, so that what somebody sent or wrote can neither command a terminal
  /// nor fill a log.
  private func shown(in quote: Unicode.Scalar) -> String {
    var shown = String(quote)
    for scalar in unicodeScalars.prefix(64) {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
        shown += scalar.escaped(asASCII: true)
      default:
        if quote == "\"", scalar == quote || scalar == "\\" { shown += "\\" }
        shown.unicodeScalars.append(scalar)
      }
    }
    return shown + (unicodeScalars.count > 64 ? "…" : "") + String(quote)
  }
}
