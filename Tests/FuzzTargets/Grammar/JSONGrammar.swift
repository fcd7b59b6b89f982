/// A JSON text that is still to be written.
indirect enum JSONText {
  /// Written as it is.
  case raw(String)
  case string(String)
  case array([JSONText])
  case object([(name: String, value: JSONText)])
}

extension Dice {
  /// Texts that readers disagree about.
  public static let oddTexts = [
    "", " ", "a", "é", "e\u{301}", "\u{212A}", "😀", "\u{202E}x", "\u{7F}", "\u{80}", "\u{FFFE}",
    "\u{FEFF}", "\n", "\t", "a\"b", "a\\b", "/", "..", "%2e", "{user}", "x\u{0}y", "\u{10FFFF}",
    "\u{D7FF}\u{E000}",
  ]

  /// Values that are no JSON, or that credd refuses.
  static let oddValues = [
    "01", "1.", ".5", "+1", "1e", "--1", "nul", "True", "'a'", "\"\\u12\"", "\"\\ud800\"",
    "\"\\udc00\\ud800\"", "\"\\x\"", "\"\\u0000\"", "\"a\tb\"", "[1,]", "{\"a\":1,}", "[,]", "{,}",
    "{\"a\":1,\"a\":2}", "{\"\\u00e9\":1,\"e\\u0301\":2}", "{\"a\" 1}", "{a:1}", "[1 2]", "NaN", "",
    "{1:2}", "[1}", "1e999", "\"\\ud83d\\ude00\"", "-0", "1E+2", "0.1e-2", "[[[[[]]]]]", "// x",
  ]

  static let words = ["a", "Token", "token", "exp", "aud", "op", "get", "profile", "work", "id"]

  mutating func number() -> String {
    switch number(6) {
    case 0: pick(["0", "-0", "1e3", "1.5E-2", "0.001", "12e0", "1e+2", "9007199254740993"])
    case 1: "\(number(100_000)).\(number(1000))"
    case 2: "-\(number(50))"
    default: "\(number(100_000))"
    }
  }

  /// Any JSON value of so many levels at most.
  mutating func anyJSON(levels: Int = 4) -> JSONText {
    switch number(levels > 0 ? 9 : 6) {
    case 0: .raw(pick(["true", "false", "null"]))
    case 1: .raw(number())
    case 2: .string(pick(Self.oddTexts))
    case 3: once(in: 12) ? .raw(pick(Self.oddValues)) : .raw(number())
    case 4, 5: .string(text("abcXYZ019 é😀-_.", 0...12))
    case 6: .array((0..<number(5)).map { _ in anyJSON(levels: levels - 1) })
    default: .object((0..<number(12)).map { index in (key(index), anyJSON(levels: levels - 1)) })
    }
  }

  private mutating func key(_ index: Int) -> String {
    once(in: 6) ? pick(Self.words + Self.oddTexts) : "\(pick(Self.words))\(index)"
  }

  /// The text, in one of the spellings that mean the same.
  mutating func written(_ text: JSONText) -> String {
    switch text {
    case .raw(let raw): return raw
    case .string(let content): return quoted(content)
    case .array(let elements):
      let parts = elements.map { space() + written($0) + space() }
      return "[" + parts.joined(separator: ",") + (parts.isEmpty ? space() : "") + "]"
    case .object(let members):
      let parts = members.map { member in
        space() + quoted(member.name) + space() + ":" + space() + written(member.value) + space()
      }
      return "{" + parts.joined(separator: ",") + (parts.isEmpty ? space() : "") + "}"
    }
  }

  private mutating func space() -> String {
    once(in: 12) ? pick([" ", "\t", "\r", "  "]) : ""
  }

  /// A JSON string. Characters are escaped now and then though they need not be.
  private mutating func quoted(_ content: String) -> String {
    let escapesMuch = once(in: 6)
    var text = "\""
    for scalar in content.unicodeScalars {
      switch scalar {
      case "\"", "\\": text += "\\" + String(scalar)
      case "\n" where number(2) == 0: text += "\\n"
      case "/" where escapesMuch: text += "\\/"
      case _ where scalar.value < 0x20 || escapesMuch && once(in: 2):
        for unit in String(scalar).utf16 {
          let digits = String(unit, radix: 16, uppercase: once(in: 2))
          text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text + "\""
  }
}

extension Dice {
  /// Members of an object, now and then without one of them, with one twice, or with a value or a
  /// name of another kind.
  mutating func disturbed(
    _ members: [(name: String, value: JSONText)], once count: Int = 3
  ) -> JSONText {
    var members = members
    guard once(in: count), !members.isEmpty else { return .object(members.shuffled(using: &self)) }
    let index = number(members.count)
    switch number(6) {
    case 0: members.remove(at: index)
    case 1: members.append(members[index])
    case 2: members[index].name = otherCase(members[index].name)
    case 3: members.append((otherCase(members[index].name), members[index].value))
    case 4: members.append((pick(Self.words + Self.oddTexts), anyJSON(levels: 2)))
    default: members[index].value = anyJSON(levels: 2)
    }
    return .object(members.shuffled(using: &self))
  }

  /// The name with its first letter in the other case.
  mutating func otherCase(_ name: String) -> String {
    let first = String(name.prefix(1))
    return (first == first.lowercased() ? first.uppercased() : first.lowercased())
      + name.dropFirst()
  }
}
