/// Which names an enrolment covers: words, where `*` stands for any run of characters, `?` for one,
/// and `{host}` for the enrolled name of the host. A pattern covers the whole bare name.
public struct Patterns: Sendable, Equatable {
  /// As they were given.
  public let words: [String]

  public static let none = Patterns(unchecked: [])

  private init(unchecked words: [String]) { self.words = words }

  /// Reads `text` of patterns that were checked before they were kept.
  public init(stored text: String) {
    self.init(unchecked: text.split(separator: " ").map(String.init))
  }

  /// - Parameter text: patterns between commas or blanks.
  public init(_ text: String) throws(InvalidName) {
    let words = text.split { $0 == "," || $0.isWhitespace }.map(String.init)
    guard words.count <= Limits.patterns else {
      throw InvalidName("has more than \(Limits.patterns) patterns")
    }
    for word in words {
      try InvalidName.check(word)
      guard word.unicodeScalars.count <= Limits.patternLength else {
        throw InvalidName("has a pattern of more than \(Limits.patternLength) characters")
      }
      for kind in Identifier.Kind.allCases where word.hasExactPrefix(kind.prefix) {
        throw InvalidName("begins with \(kind.prefix): patterns match the name behind it")
      }
      let rest = word.replacing("{host}", with: "")
      guard !rest.contains("{"), !rest.contains("}") else {
        throw InvalidName("holds braces; {host} is the only word between them")
      }
    }
    self.words = words
  }

  /// As the database keeps them.
  public var text: String { words.joined(separator: " ") }

  public var isEmpty: Bool { words.isEmpty }

  /// Whether a pattern covers everybody. An administrator is warned about it.
  public var coverEverybody: Bool {
    // Longer than the run of ? that somebody may put before a star.
    let strangers = ["alexander", "administrator", "x9-q_Z.0123"]
    return words.contains { word in
      strangers.allSatisfy { stranger in
        Self.matches(
          Self.tokens(word, host: "\u{0}")[...], stranger.unicodeScalars.map(\.value)[...])
      }
    }
  }

  /// Whether the name is covered.
  ///
  /// - Parameter folded: names that differ in case alone count as the same.
  public func cover(_ name: String, host: String, folded: Bool = false) -> Bool {
    cover(ComparedName(name, folded: folded), host: host)
  }

  /// Whether the name is covered, for a name that is compared with the patterns of many hosts.
  public func cover(_ name: ComparedName, host: String) -> Bool {
    words.contains { word in
      guard !name.beginsUnlike(word, host: host) else { return false }
      if Self.matches(Self.tokens(word, host: host)[...], name.scalars[...]) { return true }
      guard let folded = name.folded else { return false }
      let tokens = Self.tokens(Identifier.fold(word), host: Identifier.fold(host))
      return Self.matches(tokens[...], folded[...])
    }
  }

  /// How names begin that a word covers: as they are, and folded.
  ///
  /// - Returns: also whether the word covers only this one name.
  public static func beginning(
    of word: String, host: String
  ) -> (plain: String, folded: String, isWhole: Bool) {
    func text(_ tokens: [Token]) -> String {
      var text = String.UnicodeScalarView()
      for case .scalar(let value) in tokens { text.append(Unicode.Scalar(value) ?? "\u{FFFD}") }
      return String(text)
    }
    func isScalar(_ token: Token) -> Bool { token != .one && token != .any }
    let plain = tokens(word, host: host)
    let folded = tokens(Identifier.fold(word), host: Identifier.fold(host))
    return (
      text(Array(plain.prefix(while: isScalar))), text(Array(folded.prefix(while: isScalar))),
      plain.allSatisfy(isScalar)
    )
  }

  private enum Token: Equatable {
    case scalar(UInt32)
    case one
    case any
  }

  /// The host's name is taken as it is: a star in it would be a star, not a pattern.
  private static func tokens(_ word: String, host: String) -> [Token] {
    var tokens: [Token] = []
    var rest = word[...]
    while let first = rest.unicodeScalars.first {
      if rest.hasPrefix("{host}") {
        tokens += host.unicodeScalars.map { .scalar($0.value) }
        rest = rest.dropFirst("{host}".count)
        continue
      }
      switch first {
      case "*": if tokens.last != .any { tokens.append(.any) }
      case "?": tokens.append(.one)
      default: tokens.append(.scalar(first.value))
      }
      rest = Substring(rest.unicodeScalars.dropFirst())
    }
    return tokens
  }

  /// Takes at most time of pattern × name, because only the last star is ever tried again.
  private static func matches(_ tokens: ArraySlice<Token>, _ name: ArraySlice<UInt32>) -> Bool {
    var token = tokens.startIndex
    var place = name.startIndex
    var retry: (token: Int, place: Int)?
    while place < name.endIndex {
      if token < tokens.endIndex, tokens[token] == .any {
        retry = (token + 1, place)
        token += 1
      } else if token < tokens.endIndex,
        tokens[token] == .one || tokens[token] == .scalar(name[place])
      {
        token += 1
        place += 1
      } else if let last = retry {
        retry = (last.token, last.place + 1)
        token = last.token
        place = last.place + 1
      } else {
        return false
      }
    }
    return tokens[token...].allSatisfy { $0 == .any }
  }
}

/// A name as patterns compare it.
public struct ComparedName: Sendable {
  fileprivate let scalars: [UInt32]
  /// For comparisons in which names that differ in case alone count as the same.
  fileprivate let folded: [UInt32]?

  public init(_ name: String, folded isFolded: Bool) {
    scalars = name.unicodeScalars.map(\.value)
    folded = isFolded ? Identifier.fold(name).unicodeScalars.map(\.value) : nil
  }

  /// Whether the first letter alone shows that a word does not cover the name. For most words it
  /// does.
  fileprivate func beginsUnlike(_ word: String, host: String) -> Bool {
    let isHost = word.utf8.first == UInt8(ascii: "{")
    let start = (isHost ? host : word).utf8.prefix(2)
    // A letter in front of a mark may become another one when it is folded.
    guard let first = start.first, start.allSatisfy({ $0 < 0x80 }), start.count == 2 || !isHost,
      isHost || !"*?".utf8.contains(first)
    else { return false }
    let lower = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first) ? first | 0x20 : first
    return scalars.first != UInt32(first) && folded?.first != UInt32(lower)
  }
}
