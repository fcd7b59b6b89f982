internal import CredCore

/// A command that credctl reads without ArgumentParser.
///
/// Programs and shells run these verbs often, and ArgumentParser takes longer than all that they
/// do. ArgumentParser knows them too, for help and for errors: see `FastVerb` in credctl.
public enum FastCommand: Equatable, Sendable {
  case get(GetOptions)
  case env(GetOptions, VariableFormat)
  /// - Parameter renews: whether the command gets an endpoint in place of keys.
  case exec(GetOptions, command: [String], renews: Bool)
  case ping(socket: String?, json: Bool, timeout: Int)

  /// Reads the arguments after the program's name.
  ///
  /// What it accepts means the same to ArgumentParser. The last of several values of an option
  /// counts.
  /// - Parameter profile: the profile if the arguments name none.
  /// - Returns: nil where ArgumentParser must decide: another verb, a question for help, and every
  ///   argument of `env`, `exec` and `ping` that is not clear.
  /// - Throws: a ``Failure`` with ``Sysexit/usage`` for wrong arguments of `get` and a `--socket`
  ///   without a value.
  public init?(
    _ arguments: ArraySlice<String>, profile: String = DefaultProfile.ofDaemon
  ) throws(Failure) {
    var reader = OptionReader(rest: arguments)
    var socket: String?
    while let word = reader.next(), word == "--socket" { socket = try reader.value(of: word) }
    let command: FastCommand?
    switch reader.current {
    case "get": command = try Self.get(socket, profile, &reader)
    case "env": command = try? Self.env(socket, profile, &reader)
    case "exec": command = try? Self.exec(socket, profile, &reader)
    case "ping": command = try? Self.ping(socket, &reader)
    default: command = nil
    }
    guard let command else { return nil }
    self = command
  }

  private static func get(
    _ socket: String?, _ profile: String, _ reader: inout OptionReader
  ) throws(Failure) -> FastCommand? {
    var common = CommonOptions(profile: profile)
    common.options.socket = socket
    while let word = reader.next() {
      if word == "--help" || word == "-h" || word == "--version" { return nil }
      if try common.read(word, from: &reader) { continue }
      if word == "--user" {
        common.options.user = try reader.value(of: word)
      } else if OptionReader.isOption(word) {
        let advice = NearestName.suggestion(
          word, in: CommonOptions.names + ["--user"], otherwise: ": see 'credctl help get'")
        throw Failure(.usage, "unknown option '\(word)' for get\(advice)")
      } else {
        throw Failure(.usage, "unexpected argument '\(word)': see 'credctl help get'")
      }
    }
    return .get(common.options)
  }

  private static func env(
    _ socket: String?, _ profile: String, _ reader: inout OptionReader
  ) throws(Failure) -> FastCommand? {
    var common = CommonOptions(profile: profile)
    var format = VariableFormat.sh
    while let word = reader.next() {
      if try common.read(word, from: &reader) { continue }
      guard word == "--format", let known = VariableFormat(rawValue: try reader.value(of: word))
      else { return nil }
      format = known
    }
    return .env(common.options.forEnvironment(socket), format)
  }

  private static func exec(
    _ socket: String?, _ profile: String, _ reader: inout OptionReader
  ) throws(Failure) -> FastCommand? {
    var common = CommonOptions(profile: profile)
    var (renews, leavesOutConfig) = (false, false)
    while let word = reader.next(), word != "--" {
      if word == "--renew" || word == "--no-config" {
        try reader.refuseValue(of: word)
        if word == "--renew" { renews = true } else { leavesOutConfig = true }
        continue
      }
      guard try common.read(word, from: &reader) else { return nil }
    }
    try reader.refuseValue(of: "--")
    let command = reader.remaining
    guard !command.isEmpty else { return nil }
    // ArgumentParser says what is wrong.
    guard renews || !leavesOutConfig else { return nil }
    var options = common.options.forEnvironment(socket)
    options.leavesOutConfig = leavesOutConfig
    return .exec(options, command: command, renews: renews)
  }

  private static func ping(
    _ socket: String?, _ reader: inout OptionReader
  ) throws(Failure) -> FastCommand? {
    var socket = socket
    var json = false
    var timeout = WaitLimits.ping
    while let word = reader.next() {
      switch word {
      case "--socket": socket = try reader.value(of: word)
      case "--timeout": timeout = try WaitLimits.pingTimeout(reader.value(of: word))
      case "--json":
        try reader.refuseValue(of: word)
        json = true
      default: return nil
      }
    }
    return .ping(socket: socket, json: json, timeout: timeout)
  }
}

/// The options of `get`, `env` and `exec` while they are read.
private struct CommonOptions {
  static let names = [
    "--socket", "--profile", "--min-ttl", "--wait", "--refresh", "--help", "--version",
  ]

  var options: GetOptions
  private var hasProfileWord = false
  private var hasProfileOption = false

  init(profile: String) {
    options = GetOptions(profile: profile)
  }

  /// Reads an option that all three have, or the word that names the profile.
  ///
  /// - Returns: false for any other argument.
  mutating func read(_ word: String, from reader: inout OptionReader) throws(Failure) -> Bool {
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
    default:
      guard !hasProfileWord, !word.isEmpty, !OptionReader.isOption(word) else { return false }
      hasProfileWord = true
      try setProfile(word)
    }
    return true
  }

  private mutating func setProfile(_ name: String) throws(Failure) {
    guard !hasProfileWord || !hasProfileOption else {
      throw Failure(.usage, DefaultProfile.namedTwice)
    }
    options.profile = name
  }
}

extension GetOptions {
  /// - Parameter before: the value of a `--socket` before the verb.
  fileprivate func forEnvironment(_ before: String?) -> GetOptions {
    GetOptions(
      forEnvironment: profile, socket: socket ?? before, waiting: waiting, refresh: refresh)
  }
}

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

/// Reads long options one by one, `--name value` or `--name=value`.
struct OptionReader {
  private var rest: ArraySlice<String>
  /// The value after `=` of the present option.
  private var attached: String?
  /// What ``next()`` returned last.
  private(set) var current: String?

  init(rest: ArraySlice<String>) {
    self.rest = rest
  }

  /// The arguments that were not read.
  var remaining: [String] { Array(rest) }

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

  /// Compares bytes: comparing characters would load Unicode's tables at every start.
  static func isOption(_ word: String) -> Bool { word.utf8.first == UInt8(ascii: "-") }

  /// The present option's value. A value that starts with a dash must be attached: without `=` it is
  /// more often the next option.
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
