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

/// Collects diagnostics as they are found and gives them out in the order of the files.
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

  mutating func warning(at position: SourcePosition?, _ message: @autoclosure () -> String) {
    add(.warning, at: position, column: nil, message)
  }

  /// A message that nobody will see is not made: searching for a suggestion takes time.
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

  /// Everything found, in reading order; what no line is at fault for comes last.
  func inOrder() -> [Diagnostic] {
    let keyed = found.enumerated().map { index, diagnostic in
      (
        key: (
          diagnostic.position?.source ?? .max, diagnostic.position?.line ?? .max,
          diagnostic.column ?? 0, index
        ), diagnostic: diagnostic
      )
    }
    var ordered = keyed.sorted { $0.key < $1.key }.map(\.diagnostic)
    if unshown > 0 {
      ordered.append(
        Diagnostic(
          severity: hasErrors ? .error : .warning, position: nil, column: nil,
          message: "\(unshown) more problems are not shown"))
    }
    return ordered
  }
}

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

/// One configuration file as it was read: the core does no I/O of its own.
public struct ConfigurationSource: Sendable, Redacted {
  /// The name under which diagnostics speak of the file.
  public let name: String
  /// Its content, unchecked.
  public let bytes: [UInt8]

  public init(name: String, bytes: [UInt8]) {
    self.name = name
    self.bytes = bytes
  }
}

/// What came of reading configuration files.
public struct ConfigurationReading: Sendable, Equatable {
  /// Nil if there is an error among the diagnostics.
  public let configuration: Configuration?
  /// In the order of the files.
  public let diagnostics: [Diagnostic]
}

/// A text that is not what it should be. The message says what is wrong and never holds a secret.
public struct InvalidValue: Error, Sendable, Equatable {
  /// Lower-case, without a full stop.
  public let message: String

  public init(_ message: String) {
    self.message = message
  }
}
