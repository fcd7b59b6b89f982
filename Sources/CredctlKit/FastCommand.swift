/// A command that credctl reads without ArgumentParser.
///
/// Programs and shells run these verbs often, and ArgumentParser takes longer than all that they
/// do. ArgumentParser knows them too, for help and for errors: see `FastVerb` in credctl.
public enum FastCommand: Equatable, Sendable {
  case get(GetOptions)
  case env(GetOptions, VariableFormat)
  case exec(GetOptions, command: [String])
  case ping(socket: String?, json: Bool)

  /// Reads the arguments after the program's name.
  ///
  /// What it accepts means the same to ArgumentParser. The last of several values of an option
  /// counts.
  /// - Returns: nil where ArgumentParser must decide: another verb, a question for help, and every
  ///   argument of `env`, `exec` and `ping` that is not clear.
  /// - Throws: a ``Failure`` with ``Sysexit/usage`` for wrong arguments of `get` and a `--socket`
  ///   without a value.
  public init?(_ arguments: ArraySlice<String>) throws(Failure) {
    var reader = OptionReader(rest: arguments)
    var socket: String?
    while let word = reader.next(), word == "--socket" { socket = try reader.value(of: word) }
    let command: FastCommand?
    switch reader.current {
    case "get": command = try Self.get(socket, &reader)
    case "env": command = try? Self.env(socket, &reader)
    case "exec": command = try? Self.exec(socket, &reader)
    case "ping": command = try? Self.ping(socket, &reader)
    default: command = nil
    }
    guard let command else { return nil }
    self = command
  }

  private static func get(
    _ socket: String?, _ reader: inout OptionReader
  ) throws(Failure) -> FastCommand? {
    var options = GetOptions()
    options.socket = socket
    while let word = reader.next() {
      if word == "--help" || word == "-h" || word == "--version" { return nil }
      if try options.read(word, from: &reader) { continue }
      if word == "--user" {
        options.user = try reader.value(of: word)
      } else if OptionReader.isOption(word) {
        throw Failure(.usage, "unknown option '\(word)' for get: see 'credctl help get'")
      } else {
        throw Failure(.usage, "unexpected argument '\(word)': did you mean '--profile \(word)'?")
      }
    }
    return .get(options)
  }

  private static func env(
    _ socket: String?, _ reader: inout OptionReader
  ) throws(Failure) -> FastCommand? {
    var options = GetOptions()
    var format = VariableFormat.sh
    while let word = reader.next() {
      if try options.read(word, from: &reader) { continue }
      guard word == "--format", let known = VariableFormat(rawValue: try reader.value(of: word))
      else { return nil }
      format = known
    }
    return .env(options.forEnvironment(socket), format)
  }

  private static func exec(
    _ socket: String?, _ reader: inout OptionReader
  ) throws(Failure) -> FastCommand? {
    var options = GetOptions()
    while let word = reader.next(), word != "--" {
      guard try options.read(word, from: &reader) else { return nil }
    }
    try reader.refuseValue(of: "--")
    let command = reader.remaining
    guard !command.isEmpty else { return nil }
    return .exec(options.forEnvironment(socket), command: command)
  }

  private static func ping(
    _ socket: String?, _ reader: inout OptionReader
  ) throws(Failure) -> FastCommand? {
    var socket = socket
    var json = false
    while let word = reader.next() {
      switch word {
      case "--socket": socket = try reader.value(of: word)
      case "--json":
        try reader.refuseValue(of: word)
        json = true
      default: return nil
      }
    }
    return .ping(socket: socket, json: json)
  }
}

extension GetOptions {
  /// Reads an option that `get`, `env` and `exec` have.
  ///
  /// - Returns: false for any other argument.
  fileprivate mutating func read(
    _ word: String, from reader: inout OptionReader
  ) throws(Failure) -> Bool {
    switch word {
    case "--socket": socket = try reader.value(of: word)
    case "--profile", "-p": profile = try reader.value(of: word)
    case "--min-ttl": try waiting.setMinimumLifetime(reader.value(of: word))
    case "--wait": try waiting.setWait(reader.value(of: word))
    case "--refresh":
      try reader.refuseValue(of: word)
      refresh = true
    default: return false
    }
    return true
  }

  /// - Parameter before: the value of a `--socket` before the verb.
  fileprivate func forEnvironment(_ before: String?) -> GetOptions {
    GetOptions(
      forEnvironment: profile, socket: socket ?? before, waiting: waiting, refresh: refresh)
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
