/// Whether a shell evaluates the output of a command, as in `eval "$(credctl env)"`.
public enum EvaluatedOutput {
  /// The text that a shell must evaluate if the command fails. Without it, `eval` would succeed,
  /// and a script would go on with old variables.
  public static let ofFailure = "false\n"

  /// - Parameter arguments: the arguments after the program's name; they may be wrong.
  public static func isExpected(of arguments: ArraySlice<String>) -> Bool {
    var rest = arguments
    while let word = rest.first, OptionReader.isOption(word) {
      rest = rest.dropFirst(word == "--socket" ? 2 : 1)
    }
    if rest.first == "endpoint" { return true }
    guard rest.first == "env" else { return false }
    let isForPrograms = [VariableFormat.dotenv, .json].contains { format in
      rest.contains("--format=\(format.rawValue)")
        || zip(rest, rest.dropFirst()).contains { $0 == ("--format", format.rawValue) }
    }
    return !isForPrograms
  }
}
