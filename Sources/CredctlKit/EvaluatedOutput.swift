/// Whether a shell evaluates what a command prints, as in `eval "$(credctl env)"`.
public enum EvaluatedOutput {
  /// What a shell must evaluate if the command fails: without it `eval` would succeed, and a script
  /// would go on with the variables that it had.
  public static let ofFailure = "false\n"

  /// - Parameter arguments: after the program's name, right or wrong.
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
