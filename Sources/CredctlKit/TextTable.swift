/// A table in columns for people.
public struct TextTable: Sendable {
  public struct Cell: Equatable, Sendable {
    public var text: String
    public var colour: Colour?

    public init(_ text: String?, colour: Colour? = nil) {
      // A cell is one line, and never empty: an empty one would shift what is read across.
      let line = PlainText.oneLine(text ?? "")
      self.text = line.isEmpty ? "-" : line
      self.colour = colour
    }
  }

  /// SGR foreground colours (ECMA-48).
  public enum Colour: Int, Sendable {
    case red = 31
    case green = 32
    case yellow = 33
  }

  /// How the place it goes to shows text.
  public struct Surface: Sendable {
    /// Columns of the terminal; nil where nothing is cut.
    public var width: Int?
    public var hasColour: Bool

    public init(width: Int?, hasColour: Bool) {
      self.width = width
      self.hasColour = hasColour
    }
  }

  private let header: [String]
  /// Columns that may be shortened to fit, and to what; in this order, until the line fits.
  private let shrinking: [(column: Int, least: Int)]
  private var rows: [[Cell]] = []

  public init(header: [String], shrinking: [(column: Int, least: Int)]) {
    self.header = header
    self.shrinking = shrinking
  }

  public mutating func append(_ row: [Cell]) {
    rows.append(row)
  }
}

extension TextTable {
  private static let gap = 2

  public func rendered(on surface: Surface) -> String {
    let widths = columnWidths(fitting: surface.width)
    let lines = [header.map { Cell($0) }] + rows
    return lines.map { line($0, widths: widths, hasColour: surface.hasColour) }.joined()
  }

  private func columnWidths(fitting width: Int?) -> [Int] {
    var widths = header.indices.map { column in
      rows.reduce(header[column].count) { max($0, $1[column].text.count) }
    }
    guard let width else { return widths }
    for (column, least) in shrinking {
      let excess = widths.reduce(0, +) + Self.gap * (widths.count - 1) - width
      guard excess > 0 else { break }
      let floor = max(least, header[column].count)
      widths[column] = min(widths[column], max(floor, widths[column] - excess))
    }
    return widths
  }

  private func line(_ cells: [Cell], widths: [Int], hasColour: Bool) -> String {
    var line = ""
    for (column, cell) in cells.enumerated() {
      let text = Self.fitted(cell.text, to: widths[column])
      if hasColour, let colour = cell.colour {
        line += "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m"
      } else {
        line += text
      }
      if column < cells.count - 1 {
        line += String(repeating: " ", count: widths[column] - text.count + Self.gap)
      }
    }
    return line + "\n"
  }

  private static func fitted(_ text: String, to width: Int) -> String {
    text.count <= width ? text : text.prefix(width - 1) + "…"
  }
}

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
