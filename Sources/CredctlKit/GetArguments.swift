internal import CredCore

/// The arguments of `get`, which credctl reads without ArgumentParser.
///
/// SDKs run `get` often, and ArgumentParser would take longer than all the rest. ArgumentParser
/// knows the verb too, for help.
public struct GetArguments {
  private var options: GetOptions
  private var hasProfileWord = false
  private var hasProfileOption = false

  private static let names = [
    "--socket", "--profile", "--min-ttl", "--wait", "--refresh", "--help", "--version", "--user",
  ]

  /// Reads the arguments after the program's name, and carries out `get`.
  ///
  /// What it accepts means the same to ArgumentParser. The last of several values of an option
  /// counts.
  /// - Parameters:
  ///   - profile: the profile if the arguments name none; nil for the daemon's default.
  ///   - get: gets the options. To return and destroy an optional of them, Swift would make metadata at
  ///     run time.
  /// - Returns: false where ArgumentParser must decide: another verb, or a question for help.
  /// - Throws: a ``Failure`` with ``Sysexit/usage`` for wrong arguments of `get`, and for a `--socket`
  ///   without a value before any verb; and what `get` throws.
  public static func read(
    _ arguments: ArraySlice<String>, profile: String?,
    _ get: (GetOptions) throws(Failure) -> Void
  ) throws(Failure) -> Bool {
    var reader = OptionReader(rest: arguments)
    var read = GetArguments(options: GetOptions(profile: profile))
    while let word = reader.next(), word == "--socket" {
      read.options.socket = try reader.value(of: word)
    }
    guard reader.current == "get" else { return false }
    while let word = reader.next() {
      if word == "--help" || word == "-h" || word == "--version" { return false }
      try read.take(word, from: &reader)
    }
    try get(read.options)
    return true
  }

  /// The same.
  ///
  /// - Returns: nil where ArgumentParser must decide.
  public static func read(
    _ arguments: ArraySlice<String>, profile: String? = nil
  ) throws(Failure) -> GetOptions? {
    var options: GetOptions?
    _ = try read(arguments, profile: profile) { options = $0 }
    return options
  }

  private mutating func take(
    _ word: String, from reader: inout OptionReader
  ) throws(Failure) {
    switch word {
    case "--socket": options.socket = try reader.value(of: word)
    case "--profile", "-p":
      hasProfileOption = true
      try setProfile(reader.value(of: word))
    case "--min-ttl": try options.waiting.setMinimumLifetime(reader.value(of: word))
    case "--wait": try options.waiting.setWait(reader.value(of: word))
    case "--refresh":
      try reader.refuseValue(of: word)
      options.refresh = true
    case "--user": options.user = try reader.value(of: word)
    case _ where OptionReader.isOption(word):
      let advice = NearestName.suggestion(
        word, in: Self.names, otherwise: ": see 'credctl help get'")
      throw Failure(.usage, "unknown option '\(word)' for get\(advice)")
    default:
      guard !hasProfileWord, !word.isEmpty else {
        throw Failure(.usage, "unexpected argument '\(word)': see 'credctl help get'")
      }
      hasProfileWord = true
      try setProfile(word)
    }
  }

  private mutating func setProfile(_ name: String) throws(Failure) {
    guard !hasProfileWord || !hasProfileOption else {
      throw Failure(.usage, DefaultProfile.namedTwice)
    }
    options.named = name
  }
}

/// Reads long options one by one, `--name value` or `--name=value`.
struct OptionReader {
  private var rest: ArraySlice<String>
  /// The value after `=` of the present option.
  private var attached: String?
  /// The last result of ``next()``.
  private(set) var current: String?

  init(rest: ArraySlice<String>) {
    self.rest = rest
  }

  /// The next option's name or the next argument; nil at the end.
  mutating func next() -> String? {
    attached = nil
    current = rest.popFirst()
    if let word = current, Self.isOption(word),
      let equals = word.utf8.firstIndex(of: UInt8(ascii: "="))
    {
      attached = String(word[word.utf8.index(after: equals)...])
      current = String(word[..<equals])
    }
    return current
  }

  /// Compares bytes, because comparing characters would load Unicode's tables at every start.
  static func isOption(_ word: String) -> Bool { word.utf8.first == UInt8(ascii: "-") }

  /// The present option's value. A value that starts with a dash must follow `=`: otherwise it is
  /// more likely the next option.
  mutating func value(of option: String) throws(Failure) -> String {
    let value = attached ?? (rest.first.map(Self.isOption) == true ? nil : rest.popFirst())
    guard let value, !value.isEmpty else {
      throw Failure(.usage, "option '\(option)' needs a value")
    }
    return value
  }

  func refuseValue(of option: String) throws(Failure) {
    guard attached == nil else { throw Failure(.usage, "option '\(option)' takes no value") }
  }
}
