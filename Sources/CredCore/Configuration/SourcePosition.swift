/// A line of the configuration.
public struct SourcePosition: Sendable, Hashable, CustomStringConvertible {
  /// The name of the ``ConfigurationSource``.
  public let file: String
  /// Counted from 1.
  public let line: Int
  /// The file's index in reading order, which may differ from the order of names.
  let source: Int

  init(file: String, line: Int, source: Int) {
    self.file = file
    self.line = line
    self.source = source
  }

  /// `FILE:LINE`.
  public var description: String { "\(file):\(line)" }
}
