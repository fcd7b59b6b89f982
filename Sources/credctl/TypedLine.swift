/// A command line, perhaps unfinished, as far as it can be read without ArgumentParser.
struct TypedLine {
  private(set) var socket: String?
  /// Whether an option names the profile.
  private(set) var namesProfile = false
  /// Whether the last word is after the `--` of `exec` and `serve`.
  private(set) var isOfCommand = false
  /// The verb and the words after it, without options and without the values of options that are
  /// known here.
  private(set) var words: [String] = []

  /// - Parameter words: the words, including the program's name.
  init(_ words: [String], before index: Int) {
    var rest = words.prefix(max(0, index)).dropFirst()
    while let word = rest.popFirst() {
      switch word {
      case "--":
        isOfCommand = true
        return
      case "--socket": socket = rest.popFirst()
      case "-p", "--profile":
        namesProfile = true
        _ = rest.popFirst()
      case _ where word.hasPrefix("--socket="): socket = String(word.dropFirst("--socket=".count))
      case _ where word.hasPrefix("--profile="): namesProfile = true
      case _ where word.hasPrefix("-"): break
      default: self.words.append(word)
      }
    }
  }

  var takesCommand: Bool { words.first == "exec" || words.first == "serve" }
}
