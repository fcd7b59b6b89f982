/// Reads the lines of configuration files: sections, entries, comments.
///
/// A line is blank, a comment, `[section]` or `key = value`. `;` and `#` start a comment at the
/// start of a line or after white space, but not between double quotes. Lines end in LF or CRLF; a
/// byte order mark at the start is skipped. There are no continuation lines. A section or a key
/// given twice, in one file or in two, is an error: the order of files never decides what holds.
struct INIReader {
  private enum Current {
    /// Before the first section of a file.
    case none
    /// Below a header that could not be read: its entries belong nowhere.
    case unreadable
    case section(Int)
  }

  private(set) var document = INIDocument()
  var diagnostics = DiagnosticList()
  private var current = Current.none

  mutating func read(_ sources: [ConfigurationSource]) {
    for (index, source) in sources.enumerated() {
      let start = SourcePosition(file: source.name, line: 1, source: index)
      guard index < ConfigurationLimits.files else {
        diagnostics.error(at: start, "more than \(ConfigurationLimits.files) files")
        return
      }
      guard source.bytes.count <= ConfigurationLimits.fileBytes else {
        diagnostics.error(
          at: start, "the file is longer than \(ConfigurationLimits.fileBytes) bytes")
        continue
      }
      read(source, index: index)
    }
  }

  private mutating func read(_ source: ConfigurationSource, index: Int) {
    current = .none
    let content = source.bytes.dropFirst(source.bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0)
    for (number, line) in content.split(
      separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false
    ).enumerated() {
      read(
        line.last == UInt8(ascii: "\r") ? line.dropLast() : line,
        at: SourcePosition(file: source.name, line: number + 1, source: index))
    }
  }

  private mutating func read(_ line: ArraySlice<UInt8>, at position: SourcePosition) {
    guard line.count <= ConfigurationLimits.lineBytes else {
      diagnostics.error(
        at: position, "the line is longer than \(ConfigurationLimits.lineBytes) bytes")
      return
    }
    if let (column, message) = INIReader.foreignCharacter(in: line) {
      diagnostics.error(at: position, column: column, message)
      return
    }
    let text = line.trimmed
    guard let first = text.first, !first.startsComment else { return }
    if text.startIndex != line.startIndex {
      diagnostics.error(
        at: position,
        "the line starts with white space: a value cannot continue on a second line")
    } else if first == UInt8(ascii: "[") {
      readHeader(text, at: position)
    } else {
      readEntry(text, at: position)
    }
  }

  private mutating func readHeader(_ text: ArraySlice<UInt8>, at position: SourcePosition) {
    current = .unreadable
    guard let end = text.firstIndex(of: UInt8(ascii: "]")) else {
      diagnostics.error(at: position, "the section's '[' has no ']'")
      return
    }
    let rest = text[(end + 1)...].trimmed
    guard rest.first?.startsComment ?? true else {
      diagnostics.error(at: position, "text follows the section's ']'")
      return
    }
    let words = text[(text.startIndex + 1)..<end].split(whereSeparator: \.isBlank)
      .map { String(decoding: $0, as: UTF8.self) }
    guard !words.isEmpty else {
      diagnostics.error(at: position, "the section has no name")
      return
    }
    let section = INISection(words: words, position: position)
    guard let index = document.section(titled: section.title) else {
      current = .section(document.append(section))
      return
    }
    // The entries join the first section, so that they too are checked and duplicates found.
    current = .section(index)
    diagnostics.error(
      at: position,
      "duplicate section \(section.title.forMessage); first at "
        + "\(document.sections[index].position)")
  }

  private mutating func readEntry(_ text: ArraySlice<UInt8>, at position: SourcePosition) {
    guard let equals = text.firstIndex(of: UInt8(ascii: "=")) else {
      diagnostics.error(at: position, "expected 'key = value', '[section]' or a comment")
      return
    }
    let key = String(decoding: text[..<equals].trimmed, as: UTF8.self)
    guard !key.isEmpty, key.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x22 }) else {
      diagnostics.error(
        at: position, key.isEmpty ? "the key before '=' is missing" : "a key is one plain word")
      return
    }
    let written = text[(equals + 1)...]
    guard let uncommented = INIReader.withoutComment(written) else {
      diagnostics.error(at: position, "\(key.forMessage): a double quote is not closed")
      return
    }
    let value = uncommented.trimmed
    guard !value.isEmpty else {
      diagnostics.error(at: position, "\(key.forMessage) has no value")
      return
    }
    add(
      INIEntry(key: key, value: String(decoding: value, as: UTF8.self), position: position))
  }

  private mutating func add(_ entry: INIEntry) {
    switch current {
    case .unreadable:
      return
    case .none:
      diagnostics.error(
        at: entry.position, "\(entry.key.forMessage) stands before the first [section]")
    case .section(let index):
      guard let first = document.append(entry, toSection: index) else { return }
      diagnostics.error(
        at: entry.position,
        "duplicate key \(entry.key.forMessage) in \(document.sections[index].title.forMessage); "
          + "first at \(first)")
    }
  }
}
