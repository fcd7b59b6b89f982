/// The sections of all files, before their values are read.
struct INIDocument {
  private(set) var sections: [INISection] = []
  private var indexOfTitle: [String: Int] = [:]

  func section(titled title: String) -> Int? { indexOfTitle[title] }

  /// Adds a section and returns its index.
  mutating func append(_ section: INISection) -> Int {
    indexOfTitle[section.title] = sections.count
    sections.append(section)
    return sections.count - 1
  }

  /// Adds an entry. If the section has the key already, adds nothing and returns the line of the
  /// first one.
  mutating func append(_ entry: INIEntry, toSection index: Int) -> SourcePosition? {
    sections[index].append(entry)
  }
}

/// A section: a header such as `[profile work]` and the entries below it.
struct INISection {
  /// The words between the brackets: `["profile", "work"]`.
  let words: [String]
  let position: SourcePosition
  private(set) var entries: [INIEntry] = []
  private var indexOfKey: [String: Int] = [:]

  init(words: [String], position: SourcePosition) {
    self.words = words
    self.position = position
  }

  var title: String { "[" + words.joined(separator: " ") + "]" }

  /// The entry with this key; nil if there is none.
  subscript(key: String) -> INIEntry? { indexOfKey[key].map { entries[$0] } }

  /// The position of a key, for messages; that of the header if the section does not have the key.
  func position(of key: String) -> SourcePosition { self[key]?.position ?? position }

  fileprivate mutating func append(_ entry: INIEntry) -> SourcePosition? {
    if let first = self[entry.key] { return first.position }
    indexOfKey[entry.key] = entries.count
    entries.append(entry)
    return nil
  }
}

/// `key = value`.
struct INIEntry {
  let key: String
  /// Trimmed and without its comment. Quotes are kept: the key's type reads them.
  let value: String
  let position: SourcePosition
}
