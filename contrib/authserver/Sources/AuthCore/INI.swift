/// credd's own form of configuration: `[section name]`, `key = value`, `;` and `#` start comments at
/// a line's start or after a blank. A section, or a key in it, stands once.
struct INI {
  struct Entry {
    let value: String
    let place: String
  }

  struct Section {
    /// `["pool", "work"]`.
    let words: [String]
    let place: String
    var entries: [String: Entry] = [:]

    var title: String { "[" + words.joined(separator: " ") + "]" }
  }

  private(set) var sections: [Section] = []
  private(set) var errors: [String] = []

  /// - Parameter files: names, for messages, and their texts.
  init(_ files: [(name: String, text: String)]) {
    for file in files { read(file.name, file.text) }
  }

  private mutating func read(_ name: String, _ text: String) {
    var current: Int?
    for (index, raw) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let place = "\(name):\(index + 1)"
      let line = Self.withoutComment(raw.hasSuffix("\r") ? raw.dropLast() : raw)
      guard !line.isEmpty else { continue }
      if line.unicodeScalars.contains(where: { $0.value < 0x20 && $0 != "\t" }) {
        errors.append("\(place): the line holds a control character")
      } else if line.hasPrefix("[") {
        current = header(line, place)
      } else if let equals = line.firstIndex(of: "=") {
        entry(line, equals, place, in: current)
      } else {
        errors.append("\(place): expected 'key = value', '[section]' or a comment")
      }
    }
  }

  private mutating func header(_ line: String, _ place: String) -> Int? {
    guard line.hasSuffix("]") else {
      errors.append("\(place): the section's '[' has no ']' at the line's end")
      return nil
    }
    let words = line.dropFirst().dropLast().split(whereSeparator: \.isWhitespace).map(String.init)
    let section = Section(words: words, place: place)
    if let first = sections.first(where: { $0.words == words }) {
      errors.append("\(place): duplicate section \(section.title); first at \(first.place)")
      return nil
    }
    sections.append(section)
    return sections.count - 1
  }

  private mutating func entry(
    _ line: String, _ equals: String.Index, _ place: String, in current: Int?
  ) {
    let key = Self.trimmed(line[..<equals])
    let value = Self.trimmed(line[line.index(after: equals)...])
    guard let current else {
      errors.append("\(place): '\(key)' stands below no [section] that could be read")
      return
    }
    guard !key.isEmpty, !value.isEmpty else {
      errors.append(
        "\(place): " + (key.isEmpty ? "the key before '=' is missing" : "'\(key)' has no value"))
      return
    }
    if let first = sections[current].entries[key] {
      errors.append(
        "\(place): duplicate key '\(key)' in \(sections[current].title); first at \(first.place)")
      return
    }
    sections[current].entries[key] = Entry(value: value, place: place)
  }

  private static func withoutComment(_ line: Substring) -> String {
    var followsBlank = true
    for index in line.indices {
      if followsBlank, line[index] == ";" || line[index] == "#" { return trimmed(line[..<index]) }
      followsBlank = line[index] == " " || line[index] == "\t"
    }
    return trimmed(line)
  }

  static func trimmed(_ text: Substring) -> String {
    let start = text.drop { $0.isWhitespace }
    return String(start.reversed().drop { $0.isWhitespace }.reversed())
  }
}

/// The nearest known name, for a message about one that is not known.
enum Suggestion {
  static func text(for word: String, among known: [String]) -> String {
    let best = known.map { ($0, distance(word, $0)) }.min { $0.1 < $1.1 }
    guard let best, best.1 <= max(1, word.count / 3) else { return "" }
    return "; did you mean '\(best.0)'?"
  }

  private static func distance(_ left: String, _ right: String) -> Int {
    let right = Array(right)
    var row = Array(0...right.count)
    for (index, character) in left.enumerated() {
      var corner = row[0]
      row[0] = index + 1
      for column in right.indices {
        let cost = min(row[column], row[column + 1]) + 1
        let changed = corner + (right[column] == character ? 0 : 1)
        corner = row[column + 1]
        row[column + 1] = min(cost, changed)
      }
    }
    return row[right.count]
  }
}
