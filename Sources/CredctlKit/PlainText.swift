internal import CredCore

/// Makes text from outside safe for a terminal.
public enum PlainText {
  /// The most characters of an error line: AWS's longest text, with an advice. A longer text from a daemon or
  /// a backend is cut.
  public static let lengthLimit = 2000

  /// The text on one line of at most ``lengthLimit`` characters. Both control characters, which
  /// could control a terminal, and format characters, which could reorder or hide text, are
  /// removed. A line break becomes a space.
  public static func oneLine(_ text: String) -> String { line(text, limit: lengthLimit) }

  /// The same of a text that is shown whole.
  static func wholeLine(_ text: String) -> String { line(text, limit: .max) }

  private static func line(_ text: String, limit: Int) -> String {
    // Most texts need no change, and looking at characters would load Unicode's tables.
    let isPlain =
      text.utf8.count <= limit && text.utf8.allSatisfy { $0 == 0x20 || $0.isVisible }
    guard !isPlain else { return text }
    var line = ""
    var length = 0
    for scalar in text.unicodeScalars {
      guard length < limit else { return line + "…" }
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
