/// Makes text from outside fit to be shown in a terminal.
public enum PlainText {
  /// Characters of an error line; what a daemon or a backend says beyond that is cut.
  public static let lengthLimit = 1000

  /// The text on one line: control characters, which could command a terminal, and the format
  /// characters that reorder or hide text are removed, line breaks become spaces, and what follows
  /// character ``lengthLimit`` is cut.
  public static func oneLine(_ text: String) -> String {
    var line = ""
    var length = 0
    for scalar in text.unicodeScalars {
      guard length < lengthLimit else { return line + "…" }
      switch scalar {
      case "\n", "\r", "\t", "\u{85}", "\u{2028}", "\u{2029}":
        guard line.unicodeScalars.last != " " else { continue }
        line.unicodeScalars.append(" ")
      case _ where isInvisible(scalar): continue
      default: line.unicodeScalars.append(scalar)
      }
      length += 1
    }
    return line
  }

  private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format: true
    default: false
    }
  }
}
