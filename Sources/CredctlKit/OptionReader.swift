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
