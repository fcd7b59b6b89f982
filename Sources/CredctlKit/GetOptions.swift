/// What `credctl get` was asked for.
public struct GetOptions: Equatable, Sendable {
  public var socket: String?
  public var profile = "default"
  public var patience = Patience()
  public var refresh = false
  /// In whose name; nil for one's own.
  public var user: String?

  public init() {}

  /// For a program that keeps the credentials until they expire: ``WaitLimits/usefulLifetime`` is
  /// asked for where nothing else is.
  public init(
    socket: String?, profile: String, keeping patience: Patience, refresh: Bool
  ) {
    self.socket = socket
    self.profile = profile
    self.patience = patience
    self.patience.minimumLifetime = patience.minimumLifetime ?? WaitLimits.usefulLifetime
    self.refresh = refresh
  }

  /// The request, with its newline.
  public var request: [UInt8] {
    var request = RequestLine(operation: "get", profile: profile)
    patience.add(to: &request)
    if refresh { request.add("refresh", true) }
    if let user { request.add("user", user) }
    return request.finished()
  }
}

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

/// Walks over a command line of long options, `--name value` or `--name=value`.
struct OptionReader {
  private var rest: ArraySlice<String>
  /// The word after `=` of the present option.
  private var attached: String?
  /// What ``next()`` returned last.
  private(set) var current: String?

  init(_ arguments: [String]) {
    rest = arguments[...]
  }

  /// The next option's name or word; nil at the end.
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

  /// Looks at bytes: characters would draw Unicode's tables into every start of `get`.
  static func isOption(_ word: String) -> Bool { word.utf8.first == UInt8(ascii: "-") }

  /// The present option's value: one that starts with a dash must be attached, since it is far more
  /// often the next option.
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
