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

/// Finds the name somebody probably meant.
public enum NearestName {
  /// Beyond this no known name is near, and the table below would only cost time.
  private static let longestName = 64

  /// The known name with the fewest edits away, the first of equals; nil if none is near: more than
  /// a third of the text would have to change.
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

  /// Case and the kind of dash are the commonest slips: they count for nothing.
  private static func normalized(_ text: String) -> [UInt8] {
    text.utf8.map { byte in
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
      case UInt8(ascii: "-"): UInt8(ascii: "_")
      default: byte
      }
    }
  }

  /// Edits, where swapping two neighbours counts as one (optimal string alignment).
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
