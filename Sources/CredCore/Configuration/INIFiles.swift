/// Configuration files in credd's form, for programs that have keys of their own.
public struct INIFiles: Sendable {
  /// `key = value`.
  public struct Entry: Sendable {
    public let key: String
    public let position: SourcePosition
    fileprivate let written: String

    /// No variables are replaced in it.
    private var value: ConfigurationValue {
      ConfigurationValue(written: written, environment: { _ in nil })
    }

    /// The whole value, without the quotes around it.
    public func text() throws(InvalidValue) -> String { try value.text() }

    /// The words of a command or a list. Commas separate the words of a list too.
    public func words(separatedByCommas: Bool) throws(InvalidValue) -> [String] {
      try value.words(separatedByCommas: separatedByCommas)
    }
  }

  /// A header and the entries below it.
  public struct Section: Sendable {
    /// The words between the brackets, one at least: `["pool", "work"]`.
    public let words: [String]
    public let position: SourcePosition
    public let entries: [Entry]

    /// `[pool work]`.
    public var title: String { "[" + words.joined(separator: " ") + "]" }

    public subscript(key: String) -> Entry? { entries.first { $0.key == key } }
  }

  public let sections: [Section]
  /// The errors of all files, in the order of the files.
  public let diagnostics: [Diagnostic]

  public init(_ files: [ConfigurationSource]) {
    var reader = INIReader()
    reader.read(files)
    diagnostics = reader.diagnostics.inOrder()
    sections = reader.document.sections.map { section in
      Section(
        words: section.words, position: section.position,
        entries: section.entries.map { entry in
          Entry(key: entry.key, position: entry.position, written: entry.value)
        })
    }
  }
}
