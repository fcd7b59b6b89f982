/// A line of the configuration.
public struct SourcePosition: Sendable, Hashable, CustomStringConvertible {
  /// The file's name as its ``ConfigurationSource`` gives it.
  public let file: String
  /// Counted from 1.
  public let line: Int
  /// Where the file stands in reading order: names need not sort that way.
  let source: Int

  init(file: String, line: Int, source: Int) {
    self.file = file
    self.line = line
    self.source = source
  }

  /// `FILE:LINE`.
  public var description: String { "\(file):\(line)" }
}
