extension ValueSyntax<String> {
  static var path: ValueSyntax { path(limit: ConfigurationLimits.pathBytes) }

  static var socketPath: ValueSyntax { path(limit: ConfigurationLimits.socketPathBytes) }

  private static func path(limit: Int) -> ValueSyntax {
    ValueSyntax("an absolute path", takesVariables: true) { value throws(InvalidValue) in
      try value.path(limit: limit)
    }
  }
}

extension ValueSyntax<ConfiguredURL> {
  /// A URL to which credd appends: without a query, its slashes at the end removed.
  static var endpoint: ValueSyntax {
    ValueSyntax("a URL without a query") { value throws(InvalidValue) in
      var text = try value.text()
      guard try !ConfiguredURL(text).hasQuery else {
        throw InvalidValue("a URL here has no query ('?')")
      }
      while text.hasSuffix("/") { text.removeLast() }
      return try ConfiguredURL(text)
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
  /// A template whose own text, without what it will be filled with, is at most `length`
  /// characters, each of them one that `isValid` allows.
  static func template(
    length: Int, where isValid: @escaping @Sendable (String) -> Bool = { _ in true }
  ) -> ValueSyntax {
    ValueSyntax("a text (with {user}, {uid}, {host})") { value throws(InvalidValue) in
      let text = try value.text()
      let template = try Template(text)
      guard template.literals.reduce(0, { $0 + $1.count }) <= length else {
        throw InvalidValue("is longer than \(length) characters")
      }
      guard template.literals.allSatisfy(isValid) else {
        throw InvalidValue("\(text.forMessage) holds a character that is not allowed here")
      }
      return template
    }
  }
}

extension ValueSyntax<[String]> {
  /// Absolute paths of programs, each followed by as many digests as its file may have.
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
        else { throw InvalidValue("\(word.forMessage) is not \(name)") }
        guard word.utf8.count <= ConfigurationLimits.pathBytes else {
          throw InvalidValue("is longer than \(ConfigurationLimits.pathBytes) bytes")
        }
        hasPath = hasPath || isPath
      }
      return words
    }
  }

  /// A program and its arguments, split at white space; no shell reads them.
  static var command: ValueSyntax {
    ValueSyntax("an absolute path and arguments") { value throws(InvalidValue) in
      let words = try value.words(separatedByCommas: false)
      guard let program = words.first, program.utf8.first == UInt8(ascii: "/") else {
        throw InvalidValue("the command must start with an absolute path; no shell looks for it")
      }
      guard words.count <= ConfigurationLimits.commandWords else {
        throw InvalidValue("the command has more than \(ConfigurationLimits.commandWords) words")
      }
      return words
    }
  }

  /// A list whose every word is valid by itself.
  static func list(
    of name: String, most: Int = .max, where isValid: @escaping @Sendable (String) -> Bool
  ) -> ValueSyntax {
    ValueSyntax("a list, each word \(name)") { value throws(InvalidValue) in
      let words = try value.words(separatedByCommas: true)
      if let wrong = words.first(where: { !isValid($0) }) {
        throw InvalidValue("\(wrong.forMessage) is not \(name)")
      }
      guard words.count <= most else { throw InvalidValue("has more than \(most) words") }
      return words
    }
  }
}
