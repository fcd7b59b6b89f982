extension String {
  /// The text in double quotes for a message. A quote within the text is escaped as in JSON.
  ///
  /// Invisible characters, such as bidirectional controls, are escaped, and the text is cut after
  /// 64 characters. So a client's text can neither control a terminal nor fill a log.
  public var quoted: String { quoted(by: "\"") }

  /// The text in single quotes for a message about a configuration; else like ``quoted``.
  var singleQuoted: String { quoted(by: "'") }

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

/// Suggests a known name for a misspelt one.
public enum NearestName {
  /// Longer texts are near no known name, so a comparison would only cost time.
  private static let longestName = 64

  /// The known name with the fewest edits to `text`; the first one if several are equal. Nil if
  /// even this name needs more edits than a third of the text's length.
  static func of(_ text: String, in known: [String]) -> String? {
    let wanted = normalized(text)
    guard !wanted.isEmpty, wanted.count <= longestName else { return nil }
    var best: (name: String, distance: Int)?
    for name in known {
      let distance = distance(wanted, normalized(name))
      guard distance <= max(1, min(3, wanted.count / 3)) else { continue }
      if best.map({ distance < $0.distance }) ?? true { best = (name, distance) }
    }
    return best?.name
  }

  /// `; did you mean 'x'?` for the end of a message, or `otherwise`.
  public static func suggestion(_ text: String, in known: [String], otherwise: String = "")
    -> String
  {
    of(text, in: known).map { "; did you mean '\($0)'?" } ?? otherwise
  }

  /// The text in lower case, with underscores for dashes, so that the commonest mistakes count as
  /// no edit.
  private static func normalized(_ text: String) -> [UInt8] {
    text.utf8.map { byte in
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
      case UInt8(ascii: "-"): UInt8(ascii: "_")
      default: byte
      }
    }
  }

  /// The number of edits; swapping two neighbours counts as one (optimal string alignment).
  static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...b.count)
    for (i, x) in a.enumerated() {
      var row = [i + 1]
      for (j, y) in b.enumerated() {
        var edits = min(last[j] + (x == y ? 0 : 1), last[j + 1] + 1, row[j] + 1)
        if i > 0, j > 0, x == b[j - 1], a[i - 1] == y {
          edits = min(edits, beforeLast[j - 1] + 1)
        }
        row.append(edits)
      }
      (beforeLast, last) = (last, row)
    }
    return last[b.count]
  }
}
