/// A type of value: its name and how to read it.
public struct ValueSyntax<Value>: Sendable {
  /// The name with an article, for messages and documentation: `a duration from 100ms to 1m`.
  let name: String
  /// Whether `${NAME}` is replaced by the variable's value.
  var takesVariables = false
  let read: @Sendable (ConfigurationValue) throws(InvalidValue) -> Value

  init(
    _ name: String, takesVariables: Bool = false,
    read: @escaping @Sendable (ConfigurationValue) throws(InvalidValue) -> Value
  ) {
    self.name = name
    self.takesVariables = takesVariables
    self.read = read
  }
}

extension ValueSyntax {
  /// What `read` makes of a text. The error message repeats the text, so it must not be a secret.
  public static func value(
    _ name: String, by read: @escaping @Sendable (String) -> Value?
  ) -> ValueSyntax {
    ValueSyntax(name) { value throws(InvalidValue) in
      let text = try value.text()
      guard let value = read(text) else {
        throw InvalidValue("\(text.singleQuoted) is not \(name)")
      }
      return value
    }
  }
}

extension ValueSyntax<String> {
  /// A text that `isValid` accepts. The error message repeats the text, so it must not be a secret.
  public static func text(
    _ name: String, where isValid: @escaping @Sendable (String) -> Bool
  ) -> ValueSyntax {
    value(name) { isValid($0) ? $0 : nil }
  }

  /// - Parameter hint: the end of the message for a text that is something else.
  static func text(
    _ name: String, where isValid: @escaping @Sendable (String) -> Bool,
    hint: @escaping @Sendable (String) -> String?
  ) -> ValueSyntax {
    ValueSyntax(name) { value throws(InvalidValue) in
      let text = try value.text()
      guard !isValid(text) else { return text }
      throw InvalidValue("\(text.singleQuoted) is not \(name)\(hint(text) ?? "")")
    }
  }
}

extension ValueSyntax<Int> {
  /// Decimal digits.
  static func integer(_ range: ClosedRange<Int>) -> ValueSyntax {
    let name = "a number from \(range.lowerBound) to \(range.upperBound)"
    return ValueSyntax(name) { value throws(InvalidValue) in
      let text = try value.text()
      guard text.utf8.allSatisfy(\.isDigit), let number = Int(text), range.contains(number) else {
        throw InvalidValue("\(text.singleQuoted) is not \(name)")
      }
      return number
    }
  }
}

extension ValueSyntax<Bool> {
  public static var yesNo: ValueSyntax {
    ValueSyntax("yes or no") { value throws(InvalidValue) in
      let text = try value.text()
      switch text {
      case "yes", "true", "on": return true
      case "no", "false", "off": return false
      default: throw InvalidValue("\(text.singleQuoted) is neither yes nor no")
      }
    }
  }
}

extension ValueSyntax<Duration> {
  static func duration(_ range: ClosedRange<Duration>) -> ValueSyntax {
    duration(range, isWhole: false)
  }

  /// Whole seconds, the unit of AWS.
  public static func seconds(_ range: ClosedRange<Int>) -> ValueSyntax {
    duration(.seconds(range.lowerBound) ... .seconds(range.upperBound), isWhole: true)
  }

  /// Any duration: where the range depends on other keys, the reader looks at it later.
  static var anyDuration: ValueSyntax {
    ValueSyntax("a duration") { value throws(InvalidValue) in try written(value.text()) }
  }

  private static func written(_ text: String) throws(InvalidValue) -> Duration {
    guard let duration = Duration(written: text) else {
      throw InvalidValue(
        "\(text.singleQuoted) is not a duration such as 500ms, 90s, 5m, 1h30m or 30d")
    }
    return duration
  }

  private static func duration(
    _ range: ClosedRange<Duration>, isWhole: Bool
  ) -> ValueSyntax {
    let name = "a duration from \(range.lowerBound.written) to \(range.upperBound.written)"
    return ValueSyntax(name) { value throws(InvalidValue) in
      let text = try value.text()
      let duration = try written(text)
      guard range.contains(duration) else {
        throw InvalidValue("\(text.singleQuoted) is not \(name)")
      }
      guard !isWhole || duration.components.attoseconds == 0 else {
        throw InvalidValue("\(text.singleQuoted) is not a whole number of seconds")
      }
      return duration
    }
  }
}

extension ValueSyntax<Rate> {
  static var rate: ValueSyntax {
    let name = "a rate from 1/m to \(Rate.most)/s"
    return ValueSyntax(name) { value throws(InvalidValue) in
      let text = try value.text()
      guard let rate = Rate(written: text) else {
        throw InvalidValue("\(text.singleQuoted) is not \(name), such as 25/s")
      }
      return rate
    }
  }
}

extension ValueSyntax
where Value: CaseIterable & RawRepresentable & Sendable, Value.RawValue == String {
  /// One of the cases, by its raw value.
  public static var choice: ValueSyntax {
    let known = Value.allCases.map(\.rawValue)
    let list = known.joined(separator: ", ")
    return ValueSyntax("one of \(list)") { value throws(InvalidValue) in
      let text = try value.text()
      guard let choice = Value(rawValue: text) else {
        throw InvalidValue(
          "\(text.singleQuoted) is not known"
            + NearestName.suggestion(
              text, in: known, otherwise: "; known are \(list)"))
      }
      return choice
    }
  }
}

extension ValueSyntax<String> {
  public static var path: ValueSyntax { path(limit: Limits.Configuration.pathBytes) }

  static var socketPath: ValueSyntax { path(limit: Limits.Configuration.socketPathBytes) }

  private static func path(limit: Int) -> ValueSyntax {
    ValueSyntax("an absolute path", takesVariables: true) { value throws(InvalidValue) in
      try value.path(limit: limit)
    }
  }
}

extension ValueSyntax<HTTPURL> {
  /// A URL without a query. Slashes at its end are removed, because credd appends a path.
  public static var endpoint: ValueSyntax {
    ValueSyntax("a URL without a query") { value throws(InvalidValue) in
      var text = try value.text()
      guard try HTTPURL(text).query == nil else {
        throw InvalidValue("a URL here has no query ('?')")
      }
      while text.hasSuffix("/") { text.removeLast() }
      return try HTTPURL(text)
    }
  }
}

extension ValueSyntax<URLTemplate> {
  static var url: ValueSyntax {
    let name = "a URL (with {user}, {uid}, {host} in path or query)"
    return ValueSyntax(name) { value throws(InvalidValue) in
      try URLTemplate(value.text())
    }
  }
}

extension ValueSyntax<Template> {
  /// A template. Without the placeholders, its text must have at most `length` characters, and
  /// `isValid` must accept it.
  static func template(
    length: Int, takesClaims: Bool = false,
    where isValid: @escaping @Sendable (String) -> Bool = { _ in true }
  ) -> ValueSyntax {
    let claim = takesClaims ? ", {claim.NAME}" : ""
    return ValueSyntax("a text (with {user}, {uid}, {host}\(claim))") {
      value throws(InvalidValue) in
      let text = try value.text()
      let template = try Template(text, takesClaims: takesClaims)
      guard template.literals.reduce(0, { $0 + $1.count }) <= length else {
        throw InvalidValue("is longer than \(length) characters")
      }
      guard template.literals.allSatisfy(isValid) else {
        throw InvalidValue("\(text.singleQuoted) holds a character that is not allowed here")
      }
      return template
    }
  }
}

extension ValueSyntax<[String]> {
  /// Absolute paths of programs, each followed by the digests that its file may have.
  static var executables: ValueSyntax {
    let name = "an absolute path, or sha256: and 64 hexadecimal digits after one"
    return ValueSyntax("a list, each word \(name)") { value throws(InvalidValue) in
      let words = try value.words(separatedByCommas: true)
      var hasPath = false
      for word in words {
        let isPath = word.utf8.first == UInt8(ascii: "/")
        let digest = word.dropFirst(ExecutableRule.digestPrefix.count)
        guard
          isPath
            || hasPath && word.hasPrefix(ExecutableRule.digestPrefix) && digest.utf8.count == 64
              && digest.utf8.allSatisfy(\.isHexDigit)
        else { throw InvalidValue("\(word.singleQuoted) is not \(name)") }
        guard word.utf8.count <= Limits.Configuration.pathBytes else {
          throw InvalidValue("is longer than \(Limits.Configuration.pathBytes) bytes")
        }
        hasPath = hasPath || isPath
      }
      return words
    }
  }

  /// A program and its arguments, split at white space, without a shell.
  public static var command: ValueSyntax {
    ValueSyntax("an absolute path and arguments") { value throws(InvalidValue) in
      let words = try value.words(separatedByCommas: false)
      guard let program = words.first, program.utf8.first == UInt8(ascii: "/") else {
        throw InvalidValue("the command must start with an absolute path; no shell looks for it")
      }
      guard words.count <= Limits.Configuration.commandWords else {
        throw InvalidValue("the command has more than \(Limits.Configuration.commandWords) words")
      }
      return words
    }
  }

  /// A list. `isValid` accepts each of its words.
  static func list(
    of name: String, most: Int = .max, where isValid: @escaping @Sendable (String) -> Bool
  ) -> ValueSyntax {
    ValueSyntax("a list, each word \(name)") { value throws(InvalidValue) in
      let words = try value.words(separatedByCommas: true)
      if let wrong = words.first(where: { !isValid($0) }) {
        throw InvalidValue("\(wrong.singleQuoted) is not \(name)")
      }
      guard words.count <= most else { throw InvalidValue("has more than \(most) words") }
      return words
    }
  }
}

extension ValueSyntax {
  /// Words of a fixed list, each at most once.
  ///
  /// - Parameter mayBeNone: whether the word `none` stands for an empty list.
  static func words<Word>(mayBeNone: Bool = true) -> ValueSyntax
  where
    Value == [Word], Word: CaseIterable & RawRepresentable & Sendable & Hashable,
    Word.RawValue == String
  {
    let known = Word.allCases.map(\.rawValue)
    let list = known.joined(separator: ", ")
    let name = "a list of \(list)" + (mayBeNone ? ", or none" : "")
    return ValueSyntax(name) { value throws(InvalidValue) in
      let words = try value.words(separatedByCommas: true)
      if mayBeNone, words == ["none"] { return [] }
      var chosen: [Word] = []
      for word in words {
        guard let choice = Word(rawValue: word) else {
          throw InvalidValue(
            "\(word.singleQuoted) is not known"
              + NearestName.suggestion(word, in: known, otherwise: "; known are \(list)"))
        }
        guard !chosen.contains(choice) else {
          throw InvalidValue("\(word.singleQuoted) occurs twice")
        }
        chosen.append(choice)
      }
      return chosen
    }
  }
}
