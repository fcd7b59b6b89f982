extension GetOptions {
  /// What a command line asks for, so far as `get` is concerned.
  public enum Invocation: Equatable, Sendable {
    case get(GetOptions)
    /// Another verb, or a question for help: the full parser's business.
    case other
  }

  /// Reads the arguments after the program's name without the full argument parser, which costs
  /// more start-up than everything else `get` does.
  ///
  /// Takes exactly what the full parser takes for `get`; of an option given twice the last counts.
  /// - Throws: a ``Failure`` with ``Sysexit/usage``.
  public static func invocation(of arguments: [String]) throws(Failure) -> Invocation {
    var reader = OptionReader(arguments)
    var options = GetOptions()
    while let word = reader.next(), word != "get" {
      guard word == "--socket" else { return .other }
      options.socket = try reader.value(of: word)
    }
    guard reader.current == "get" else { return .other }
    while let word = reader.next() {
      if word == "--help" || word == "-h" || word == "--version" { return .other }
      try options.read(word, from: &reader)
    }
    return .get(options)
  }

  private mutating func read(
    _ word: String, from reader: inout OptionReader
  ) throws(Failure) {
    switch word {
    case "--socket": socket = try reader.value(of: word)
    case "--profile", "-p": profile = try reader.value(of: word)
    case "--min-ttl": try patience.setMinimumLifetime(reader.value(of: word))
    case "--wait": try patience.setWait(reader.value(of: word))
    case "--user": user = try reader.value(of: word)
    case "--refresh":
      try reader.refuseValue(of: word)
      refresh = true
    case _ where OptionReader.isOption(word):
      throw Failure(.usage, "unknown option '\(word)' for get: see 'credctl help get'")
    default:
      throw Failure(.usage, "unexpected argument '\(word)': did you mean '--profile \(word)'?")
    }
  }
}
