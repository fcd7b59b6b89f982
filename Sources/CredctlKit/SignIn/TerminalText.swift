/// Text for a terminal of a certain size and locale.
public enum TerminalText {
  public struct Size: Equatable, Sendable {
    public var columns: Int
    public var rows: Int

    public init(columns: Int, rows: Int) {
      self.columns = columns
      self.rows = rows
    }
  }

  /// The lines, broken between words where they are wider than the terminal. A line that begins with a
  /// blank is a link or a code to copy, and stays whole.
  ///
  /// - Parameter width: in columns; nil if it is not known.
  public static func wrapped(_ lines: [String], to width: Int?) -> [String] {
    guard let width, width >= leastWidth else { return lines }
    return lines.flatMap { line in
      line.count <= width || line.hasPrefix(" ") ? [line] : broken(line, to: width)
    }
  }

  private static let leastWidth = 20

  /// A word that is longer than a line is not broken.
  private static func broken(_ line: String, to width: Int) -> [String] {
    var lines: [String] = []
    var current = ""
    for word in line.split(separator: " ") {
      if !current.isEmpty, current.count + 1 + word.count > width {
        lines.append(current)
        current = ""
      }
      current += (current.isEmpty ? "" : " ") + word
    }
    return lines + [current]
  }

  /// How many rows the lines take.
  public static func rows(_ lines: [String], of width: Int?) -> Int {
    guard let width, width > 0 else { return lines.count }
    return wrapped(lines, to: width).reduce(0) { $0 + max(1, ($1.count + width - 1) / width) }
  }

  /// The text as the user's locale can show it: without UTF-8 there is no `…`. Where no locale is named,
  /// nothing says what can be shown.
  public static func spelled(_ text: String, _ environment: (String) -> String?) -> String {
    guard text.utf8.contains(0xE2), let locale = locale(environment), !isUTF8(locale) else {
      return text
    }
    return text.replacing("…", with: "...")
  }

  /// Whether the terminal can show blocks: the locale is UTF-8, and the terminal is not dumb.
  public static func showsQRCodes(_ environment: (String) -> String?) -> Bool {
    guard let terminal = environment("TERM"), !terminal.isEmpty, terminal != "dumb" else {
      return false
    }
    return locale(environment).map(isUTF8) ?? false
  }

  /// The first variable that is set counts (locale(7)).
  private static func locale(_ environment: (String) -> String?) -> String? {
    ["LC_ALL", "LC_CTYPE", "LANG"].compactMap(environment).first { !$0.isEmpty }
  }

  private static func isUTF8(_ locale: String) -> Bool {
    let name = locale.uppercased()
    return name.contains("UTF-8") || name.contains("UTF8")
  }
}
