/// What came of reading configuration files.
public struct ConfigurationReading: Sendable, Equatable {
  /// Nil if there is an error among the diagnostics.
  public let configuration: Configuration?
  /// In the order of the files.
  public let diagnostics: [Diagnostic]
}
