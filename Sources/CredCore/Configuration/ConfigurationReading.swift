/// One configuration file, read by the caller: the core does no I/O.
public struct ConfigurationSource: Sendable, Redacted {
  /// The file's name in diagnostics.
  public let name: String
  /// Its content, unchecked.
  public let bytes: [UInt8]

  public init(name: String, bytes: [UInt8]) {
    self.name = name
    self.bytes = bytes
  }
}

/// The result of reading configuration files.
public struct ConfigurationReading: Sendable, Equatable {
  /// Nil if one of the diagnostics is an error.
  public let configuration: Configuration?
  /// The part that could be read, even if there are errors. It serves to find further errors, and
  /// is never used to run.
  public let understood: Configuration
  /// In the order of the files.
  public let diagnostics: [Diagnostic]
  /// The line of each key, by the section's title without brackets and the key: `backend corp/url`;
  /// and the line of each header, under only the title.
  public let positions: [String: SourcePosition]
  /// The files that were read, the main file first.
  public let files: [String]

  /// The line of a key, or of its section's header.
  public func position(of key: String, in section: String) -> SourcePosition? {
    positions["\(section)/\(key)"] ?? positions[section]
  }
}
