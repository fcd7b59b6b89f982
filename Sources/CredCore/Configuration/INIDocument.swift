/// The lines of all files, sorted into sections but not yet understood.
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

  /// Adds an entry, or returns the place of the one that has its key already.
  mutating func append(_ entry: INIEntry, toSection index: Int) -> SourcePosition? {
    sections[index].append(entry)
  }
}

/// A section: `[profile work]` and the entries below it.
struct INISection {
  /// What stands between the brackets: `["profile", "work"]`.
  let words: [String]
  let position: SourcePosition
  private(set) var entries: [INIEntry] = []
  private var indexOfKey: [String: Int] = [:]

  init(words: [String], position: SourcePosition) {
    self.words = words
    self.position = position
  }

  var title: String { "[" + words.joined(separator: " ") + "]" }

  /// The entry with this key.
  subscript(key: String) -> INIEntry? { indexOfKey[key].map { entries[$0] } }

  /// Where a key stands, for a message about it; the header's place if it was not written.
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
  /// Trimmed and without its comment, quotes as written: the key's type decides what they mean.
  let value: String
  let position: SourcePosition
}
