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
    guard found.count < ConfigurationLimits.diagnostics else {
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
