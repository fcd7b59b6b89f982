internal import CredCore

/// A table in columns for people.
public struct TextTable: Sendable {
  public struct Cell: Equatable, Sendable {
    public var text: String
    public var colour: Colour?
    /// Stands for the text where that has no room; nil if it is cut there.
    public var short: String?

    public init(_ text: String?, colour: Colour? = nil, short: String? = nil) {
      self.short = short.map(PlainText.oneLine)
      // A cell is one line and never empty: an empty cell would shift the columns for scripts.
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

    func painted(_ text: String) -> String { "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" }
  }

  /// The abilities of the output.
  public struct Display: Sendable {
    /// The width of the terminal in columns; nil if lines are not cut.
    public var width: Int?
    public var hasColour: Bool
    /// Stands for the rest of a text that was cut.
    public var ellipsis: String

    public init(width: Int?, hasColour: Bool, ellipsis: String = "…") {
      self.width = width
      self.hasColour = hasColour
      self.ellipsis = ellipsis
    }
  }

  private let header: [String]
  /// The columns to shorten, in this order, until the line fits, with their least widths.
  private let shrinking: [(column: Int, least: Int)]
  /// The columns to omit, in this order, if the line does not fit even when shortened. One that fits all the
  /// same when others were omitted stays.
  private let optional: [Int]
  private var rows: [[Cell]] = []

  public init(
    header: [String], shrinking: [(column: Int, least: Int)] = [], optional: [Int] = []
  ) {
    self.header = header
    self.shrinking = shrinking
    self.optional = optional
  }

  public mutating func append(_ row: [Cell]) {
    rows.append(row)
  }
}

extension TextTable {
  private static let gap = 2
  /// So many columns more than the short form has show something of the rest.
  private static let roomOfReason = 16

  public func rendered(on display: Display) -> String {
    let columns = columns(fitting: display.width)
    let widths = columnWidths(columns, fitting: display.width)
    let lines = [header.map { Cell($0) }] + rows
    return lines.map { line($0, columns, widths, display) }.joined()
  }

  /// Whether a column is shown there.
  func shows(_ column: Int, on display: Display) -> Bool {
    columns(fitting: display.width).contains(column)
  }

  private func columns(fitting width: Int?) -> [Int] {
    let all = Array(header.indices)
    guard let width else { return all }
    func fit(_ columns: [Int]) -> Bool {
      Self.lineWidth(columnWidths(columns, fitting: width), columns) <= width
    }
    var omitted: [Int] = []
    for column in optional where !fit(all.filter { !omitted.contains($0) }) {
      omitted.append(column)
    }
    for column in omitted.dropLast().reversed() {
      let fewer = omitted.filter { $0 != column }
      if fit(all.filter { !fewer.contains($0) }) { omitted = fewer }
    }
    return all.filter { !omitted.contains($0) }
  }

  private static func lineWidth(_ widths: [Int], _ columns: [Int]) -> Int {
    columns.reduce(gap * (columns.count - 1)) { $0 + widths[$1] }
  }

  /// The width of every column, shortened so that the given ones fit.
  private func columnWidths(_ columns: [Int], fitting width: Int?) -> [Int] {
    var widths = header.indices.map { column in
      rows.reduce(header[column].count) { max($0, $1[column].text.count) }
    }
    guard let width else { return widths }
    for (column, least) in shrinking where columns.contains(column) {
      let excess = Self.lineWidth(widths, columns) - width
      guard excess > 0 else { break }
      let floor = max(least, header[column].count)
      widths[column] = min(widths[column], max(floor, widths[column] - excess))
    }
    return widths
  }

  private func line(
    _ cells: [Cell], _ columns: [Int], _ widths: [Int], _ display: Display
  ) -> String {
    var line = ""
    for column in columns {
      let cell = cells[column]
      let text = Self.fitted(cell, to: widths[column], display.ellipsis)
      line += display.hasColour ? cell.colour?.painted(text) ?? text : text
      if column != columns.last {
        line += String(repeating: " ", count: widths[column] - text.count + Self.gap)
      }
    }
    return line + "\n"
  }

  private static func fitted(_ cell: Cell, to width: Int, _ ellipsis: String) -> String {
    guard cell.text.count > width else { return cell.text }
    if let short = cell.short, short.count <= width, width < short.count + roomOfReason {
      return short
    }
    return cell.text.prefix(width - ellipsis.count) + ellipsis
  }
}

/// Text in several lines, for a terminal.
enum WrappedText {
  /// Lines of at most `width` characters, broken between words. All lines except the first are
  /// indented. A word that is longer than a line is broken too.
  static func lines(_ text: String, width: Int?) -> [String] {
    guard let width, width > 10 else { return [text] }
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ") {
      var rest = word[...]
      if !line.isEmpty, line.count + 1 + rest.count > width {
        lines.append(line)
        line = " "
      }
      while line.count + 1 + rest.count > width {
        let room = width - line.count - (line.isEmpty ? 0 : 1)
        lines.append(line + (line.isEmpty ? "" : " ") + rest.prefix(room))
        rest = rest.dropFirst(room)
        line = " "
      }
      if !rest.isEmpty { line += (line.isEmpty ? "" : " ") + rest }
    }
    return line.allSatisfy { $0 == " " } ? lines : lines + [line]
  }
}
