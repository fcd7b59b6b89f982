/// Something a person should know about the configuration.
///
/// A message never repeats a value that can hold a secret.
public struct Diagnostic: Sendable, Equatable, CustomStringConvertible {
  /// An error leaves no configuration; a warning does.
  public enum Severity: String, Sendable {
    case error, warning
  }

  public let severity: Severity
  /// Nil where no single line is at fault.
  public let position: SourcePosition?
  /// Counted in characters from 1; given where the eye would search the line for the fault.
  public let column: Int?
  /// Lower-case, without a full stop.
  public let message: String

  public init(
    severity: Severity, position: SourcePosition? = nil, column: Int? = nil, message: String
  ) {
    self.severity = severity
    self.position = position
    self.column = column
    self.message = message
  }

  /// `FILE:LINE: message`, a warning marked as such.
  public var description: String {
    var text = position.map { "\($0): " } ?? ""
    if severity == .warning { text += "warning: " }
    text += message
    if let column { text += " (column \(column))" }
    return text
  }
}
