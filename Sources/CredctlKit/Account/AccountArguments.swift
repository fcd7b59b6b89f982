internal import CredCore

/// The command line of `account`. The profile may come before the action, but for ArgumentParser
/// the action is a verb.
public enum AccountArguments {
  /// Options with a value.
  private static let withValue = [
    "--socket", "-p", "--profile", "--username", "--attribute", "--name", "--preferred",
    "--enabled", MetadataOption.name,
  ]

  /// Names of the actions.
  public static let actions = AccountAction.allCases.map(\.rawValue)

  /// Puts the action after `account`, and the profile after `--profile`.
  ///
  /// - Parameter arguments: the arguments after the program's name.
  /// - Returns: the arguments unchanged, if they do not belong to an action.
  /// - Throws: a ``Failure`` with ``Sysexit/usage`` for an unknown action.
  public static func inOrder(_ arguments: [String]) throws(Failure) -> [String] {
    let words = words(arguments)
    guard words.count > 1, arguments[words[0]] == "account" else { return arguments }
    // A profile may have the same name as an action: then the action follows.
    if words.count > 2, actions.contains(arguments[words[2]]) {
      guard !namesProfile(arguments) else { throw Failure(.usage, DefaultProfile.namedTwice) }
      return moved(arguments, verb: words[0], action: words[2], profile: words[1])
    }
    guard !actions.contains(arguments[words[1]]) else {
      return moved(arguments, verb: words[0], action: words[1], profile: nil)
    }
    throw unknown(arguments[words[words.count > 2 ? 2 : 1]])
  }

  /// The refusal of a word that is no action.
  public static func unknown(_ word: String) -> Failure {
    Failure(
      .usage,
      "there is no action '\(word)'"
        + NearestName.suggestion(word, in: actions, otherwise: ": see 'credctl help account'"))
  }

  private static func moved(
    _ arguments: [String], verb: Int, action: Int, profile: Int?
  ) -> [String] {
    let rest = arguments.indices.filter { $0 > verb && $0 != action && $0 != profile }
    let named = profile.map { ["--profile=\(arguments[$0])"] } ?? []
    return Array(arguments[...verb]) + [arguments[action]] + named + rest.map { arguments[$0] }
  }

  private static func namesProfile(_ arguments: [String]) -> Bool {
    arguments.contains { $0 == "-p" || $0 == "--profile" || $0.hasPrefix("--profile=") }
  }

  /// The indices of the words that are neither options nor values of options.
  private static func words(_ arguments: [String]) -> [Int] {
    var words: [Int] = []
    var isValue = false
    for (index, word) in arguments.enumerated() {
      if isValue {
        isValue = false
      } else if word == "--" {
        break
      } else if word.hasPrefix("-"), word != "-" {
        isValue = withValue.contains(word)
      } else {
        words.append(index)
      }
    }
    return words
  }
}
