/// An error in the configuration, or a warning about it.
///
/// A message never repeats a value that may be a secret.
public struct Diagnostic: Sendable, Equatable, CustomStringConvertible {
  /// With an error there is no configuration. With a warning there still is one.
  public enum Severity: String, Sendable {
    case error, warning
  }

  public let severity: Severity
  /// Nil if the problem is not in one line.
  public let position: SourcePosition?
  /// The column in characters, counted from 1. Given only if the position in the line is hard to see.
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

  /// `FILE:LINE: message`, or `FILE:LINE: warning: message`.
  public var description: String {
    var text = position.map { "\($0): " } ?? ""
    if severity == .warning { text += "warning: " }
    text += message
    if let column { text += " (column \(column))" }
    return text
  }
}

extension [Diagnostic] {
  /// The diagnostics in the order of the files and lines; those without a line come last.
  public var inReadingOrder: [Diagnostic] {
    let keyed = enumerated().map { index, diagnostic in
      (
        key: (
          diagnostic.position?.source ?? .max, diagnostic.position?.line ?? .max,
          diagnostic.column ?? 0, index
        ), diagnostic: diagnostic
      )
    }
    return keyed.sorted { $0.key < $1.key }.map(\.diagnostic)
  }
}

/// Collects diagnostics and sorts them in the order of the files.
struct DiagnosticList {
  private var found: [Diagnostic] = []
  private var unshown = 0
  private(set) var hasErrors = false

  mutating func error(
    at position: SourcePosition?, column: Int? = nil, _ message: @autoclosure () -> String
  ) {
    hasErrors = true
    add(.error, at: position, column: column, message)
  }

  mutating func warning(
    at position: SourcePosition?, column: Int? = nil, _ message: @autoclosure () -> String
  ) {
    add(.warning, at: position, column: column, message)
  }

  /// Messages beyond the limit are not built, because the search for a suggestion takes time.
  private mutating func add(
    _ severity: Diagnostic.Severity, at position: SourcePosition?, column: Int?,
    _ message: () -> String
  ) {
    guard found.count < Limits.Configuration.diagnostics else {
      unshown += 1
      return
    }
    found.append(
      Diagnostic(severity: severity, position: position, column: column, message: message()))
  }

  /// All diagnostics in reading order; those without a line come last.
  func inOrder() -> [Diagnostic] {
    var ordered = found.inReadingOrder
    if unshown > 0 {
      ordered.append(
        Diagnostic(
          severity: hasErrors ? .error : .warning, position: nil, column: nil,
          message: "\(unshown) more problems are not shown"))
    }
    return ordered
  }
}
