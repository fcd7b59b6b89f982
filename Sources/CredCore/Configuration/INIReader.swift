/// Reads the lines of configuration files: sections, entries, comments.
///
/// A line is blank, a comment, `[section]` or `key = value`. `;` and `#` start a comment at the
/// start of a line or after white space, but not between double quotes. Lines end in LF or CRLF; a
/// byte order mark at the start is skipped. There are no continuation lines. A section or a key
/// that is given twice, in one file or in two, is an error. So the order of files never decides
/// which value applies.
struct INIReader {
  private enum Current {
    /// Before the first section of a file.
    case none
    /// Below a header that could not be read: its entries are ignored.
    case unreadable
    case section(Int)
  }

  private(set) var document = INIDocument()
  var diagnostics = DiagnosticList()
  private var current = Current.none

  mutating func read(_ sources: [ConfigurationSource]) {
    for (index, source) in sources.enumerated() {
      let start = SourcePosition(file: source.name, line: 1, source: index)
      guard index < Limits.Configuration.files else {
        diagnostics.error(at: start, "more than \(Limits.Configuration.files) files")
        return
      }
      guard source.bytes.count <= Limits.Configuration.fileBytes else {
        diagnostics.error(
          at: start, "the file is longer than \(Limits.Configuration.fileBytes) bytes")
        continue
      }
      read(source, index: index)
    }
  }

  private mutating func read(_ source: ConfigurationSource, index: Int) {
    current = .none
    for (number, line) in source.bytes.withoutByteOrderMark.split(
      separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false
    ).enumerated() {
      read(
        line.last == UInt8(ascii: "\r") ? line.dropLast() : line,
        at: SourcePosition(file: source.name, line: number + 1, source: index))
    }
  }

  private mutating func read(_ line: ArraySlice<UInt8>, at position: SourcePosition) {
    guard line.count <= Limits.Configuration.lineBytes else {
      diagnostics.error(
        at: position, "the line is longer than \(Limits.Configuration.lineBytes) bytes")
      return
    }
    if let (column, message) = INIReader.foreignCharacter(in: line) {
      diagnostics.error(at: position, column: column, message)
      return
    }
    let text = line.trimmedOfBlanks
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
    if let pasted = PastedCharacter.first(in: text[...end]) {
      diagnostics.error(at: position, column: pasted.column, pasted.message)
      return
    }
    let rest = text[(end + 1)...].trimmedOfBlanks
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
    // The entries join the first section: they are checked, and duplicates are found.
    current = .section(index)
    diagnostics.error(
      at: position,
      "duplicate section \(section.title.singleQuoted); first at "
        + "\(document.sections[index].position)")
  }

  private mutating func readEntry(_ text: ArraySlice<UInt8>, at position: SourcePosition) {
    let equals = text.firstIndex(of: UInt8(ascii: "="))
    if let pasted = PastedCharacter.first(in: text[..<(equals ?? text.endIndex)]) {
      diagnostics.error(at: position, column: pasted.column, pasted.message)
      return
    }
    guard let equals else {
      diagnostics.error(at: position, "expected 'key = value', '[section]' or a comment")
      return
    }
    let key = String(decoding: text[..<equals].trimmedOfBlanks, as: UTF8.self)
    guard !key.isEmpty, key.utf8.allSatisfy({ $0.isVisible && $0 != UInt8(ascii: "\"") }) else {
      diagnostics.error(
        at: position, key.isEmpty ? "the key before '=' is missing" : "a key is one plain word")
      return
    }
    let written = text[(equals + 1)...]
    guard let uncommented = INIReader.withoutComment(written) else {
      diagnostics.error(at: position, "\(key.singleQuoted): a double quote is not closed")
      return
    }
    let value = uncommented.trimmedOfBlanks
    guard !value.isEmpty else {
      diagnostics.error(at: position, "\(key.singleQuoted) has no value")
      return
    }
    // Such a value may be meant; where it is not, its key's type may say so too.
    if let pasted = PastedCharacter.first(in: text[..<value.endIndex]) {
      diagnostics.warning(at: position, column: pasted.column, pasted.message)
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
        at: entry.position, "\(entry.key.singleQuoted) stands before the first [section]")
    case .section(let index):
      guard let first = document.append(entry, toSection: index) else { return }
      diagnostics.error(
        at: entry.position,
        "duplicate key \(entry.key.singleQuoted) in \(document.sections[index].title.singleQuoted); "
          + "first at \(first)")
    }
  }
}

extension INIReader {
  /// The first character of a line that is not allowed. Not allowed are control characters other
  /// than a tab, and bytes that are not UTF-8. The column counts characters from 1.
  static func foreignCharacter(in line: ArraySlice<UInt8>) -> (column: Int, message: String)? {
    if line.allSatisfy({ (0x20...0x7E).contains($0) || $0 == UInt8(ascii: "\t") }) { return nil }
    var parser = Unicode.UTF8.ForwardParser()
    var bytes = line.makeIterator()
    var column = 0
    while true {
      column += 1
      switch parser.parseScalar(from: &bytes) {
      case .emptyInput:
        return nil
      case .error:
        return (column, "the line is not valid UTF-8")
      case .valid(let encoded):
        let scalar = Unicode.UTF8.decode(encoded)
        guard scalar.properties.generalCategory == .control, scalar != "\t" else { continue }
        return (column, "the line holds the control character U+\(scalar.code)")
      }
    }
  }

  /// A value up to its comment; nil if a double quote is not closed.
  static func withoutComment(_ value: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    var isQuoted = false
    var isEscaped = false
    var followsBlank = true
    for index in value.indices {
      let byte = value[index]
      if isEscaped {
        isEscaped = false
      } else if isQuoted {
        isEscaped = byte == UInt8(ascii: "\\")
        isQuoted = byte != UInt8(ascii: "\"")
      } else if followsBlank, byte.startsComment {
        return value[..<index]
      } else {
        isQuoted = byte == UInt8(ascii: "\"")
      }
      followsBlank = byte.isBlank
    }
    return isQuoted ? nil : value
  }
}

extension UInt8 {
  var startsComment: Bool { self == UInt8(ascii: ";") || self == UInt8(ascii: "#") }
}
