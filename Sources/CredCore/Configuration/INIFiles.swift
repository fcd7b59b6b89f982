/// Configuration files in credd's form, for programs that have keys of their own.
public struct INIFiles: Sendable {
  /// The value of a variable that a path names; nil where it is not set.
  public typealias Environment = @Sendable (String) throws(InvalidValue) -> String?

  /// `key = value`.
  public struct Entry: Sendable {
    public let key: String
    public let position: SourcePosition
    fileprivate let written: String
    fileprivate let environment: Environment

    private var value: ConfigurationValue {
      ConfigurationValue(written: written, environment: environment)
    }

    /// The value, if it has the syntax of its key.
    public func read<Value>(_ syntax: ValueSyntax<Value>) throws(InvalidValue) -> Value {
      try syntax.read(value)
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

  public init(_ files: [ConfigurationSource], environment: @escaping Environment = { _ in nil }) {
    var reader = INIReader()
    reader.read(files)
    diagnostics = reader.diagnostics.inOrder().filter { $0.severity == .error }
    sections = reader.document.sections.map { section in
      Section(
        words: section.words, position: section.position,
        entries: section.entries.map { entry in
          Entry(
            key: entry.key, position: entry.position, written: entry.value,
            environment: environment)
        })
    }
  }
}
