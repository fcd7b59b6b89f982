import CredCore
import TestSupport
import Testing

struct JSONParserTests {
  private func parse(_ text: String) throws(JSONError) -> JSONValue {
    try JSONValue.parse(Array(text.utf8))
  }

  @Test func readsEveryKindOfValue() throws {
    let value = try parse(#" {"a":[1,-2.5e3,true,false,null,"x"],"b":{}} "#)
    expect(
      value["a"],
      equals: .array([
        .number("1"), .number("-2.5e3"), .bool(true), .bool(false), .null, .string(Secret("x")),
      ]))
    expect(value["b"], equals: .object([]))
    expect(value["c"] == nil)
    expect(try parse("[ ]"), equals: .array([]))
  }

  @Test func keepsTheOffsetOfEveryKey() throws {
    let value = try parse(#"{"a":1, "é":2 ,"c":3}"#)
    guard case .object(let members) = value else {
      Issue.record("not an object")
      return
    }
    expect(members.map(\.keyOffset), equals: [1, 8, 16])
    expect(members.map(\.key), equals: ["a", "é", "c"])
  }

  @Test func numbersStayAsWritten() throws {
    expect(try parse("-0"), equals: .number("-0"))
    expect(try parse("9223372036854775807").integer, equals: .max)
    expect(try parse("9223372036854775808").integer == nil)
    expect(try parse("1.0").integer == nil)
    expect(try parse("1.5E+2").double, equals: 150)
    expect(try parse("1e999").double == nil)
    expect(try parse(#""1""#).integer == nil)
  }

  @Test(arguments: [
    (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
    (#""\u0041\u00e9\u20AC""#, "Aé€"),
    (#""a\ud83d\ude00b""#, "a😀b"),
    (#""\uDBFF\uDFFF""#, "\u{10FFFF}"),
    (#""é€😀""#, "é€😀"),
    (#""""#, ""),
    ("\"\u{7f}\"", "\u{7f}"),
  ])
  func undoesEscapes(json: String, text: String) throws {
    expect(try parse(json).text, equals: text)
    expect(try parse(json).secret, equals: Secret(text))
  }

  @Test(arguments: [
    ("", 0, "expected a value, found the end"),
    ("  ", 2, "expected a value, found the end"),
    ("{", 1, "expected a key in quotes"),
    (#"{"a" 1}"#, 5, "expected ':' after the key"),
    (#"{"a":}"#, 5, "expected a value"),
    (#"{"a":1 "b":2}"#, 7, "expected ',' or '}'"),
    (#"{"a":1"#, 6, "expected ',' or '}'"),
    (#"{"a":1,}"#, 6, "trailing comma"),
    ("[1,]", 2, "trailing comma"),
    ("[1,,2]", 3, "expected a value"),
    ("[1 2]", 3, "expected ',' or ']'"),
    ("{a:1}", 1, "expected a key in quotes"),
    (#"{"a":1} x"#, 8, "unexpected text after the value"),
    ("{}{}", 2, "unexpected text after the value"),
    ("nul", 3, "expected 'null'"),
    ("trux", 3, "expected 'true'"),
    ("NaN", 0, "expected a value"),
    ("+1", 0, "expected a value"),
    ("01", 0, "a number must not start with 0"),
    ("-", 1, "expected a digit"),
    ("1.", 2, "expected a digit"),
    (".5", 0, "expected a value"),
    ("1e+", 3, "expected a digit"),
    ("1\0", 1, "unexpected text after the value"),
    (#""a"#, 2, "the string that starts at byte 0 has no end"),
    (#""a\"#, 2, "invalid escape"),
    (#""\q""#, 1, "invalid escape"),
    (#""a\u12g4""#, 2, #"expected 4 hexadecimal digits after '\u'"#),
    (#""a\u12"#, 2, #"expected 4 hexadecimal digits after '\u'"#),
    (#""\ud83d""#, 1, "unpaired surrogate"),
    (#""\ud83dx""#, 1, "unpaired surrogate"),
    (#""\ud83d\u0041""#, 1, "unpaired surrogate"),
    (#""\ude00""#, 1, "unpaired surrogate"),
    (#""\u0000""#, 1, "NUL in a string"),
    ("\"a\nb\"", 2, "control character in a string"),
    ("\"a\0b\"", 2, "control character in a string"),
    (#"{"a":1,"b":2,"a":3}"#, 13, #"duplicate key "a""#),
    (#"{"a":1,"\u0061":3}"#, 7, #"duplicate key "a""#),
    ("\u{FEFF}{}", 0, "expected a value"),
  ])
  func namesTheFaultAndItsPlace(json: String, offset: Int, message: String) {
    #expect(throws: JSONError(offset: offset, message: message)) { try parse(json) }
  }

  @Test(
    arguments: [
      [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80],
      [0xE2, 0x82], [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80],
      [0xF0, 0x9F, 0x98], [0xE2, 0x28, 0xA1], [0xF0, 0x9F, 0x28, 0x80], [0xFF],
    ] as [[UInt8]])
  func refusesInvalidUTF8(sequence: [UInt8]) {
    let quote = UInt8(ascii: "\"")
    #expect(throws: JSONError(offset: 2, message: "invalid UTF-8")) {
      try JSONValue.parse([quote, 0x61] + sequence + [quote])
    }
    #expect(throws: JSONError(offset: 1, message: "invalid UTF-8")) {
      try JSONValue.parse([quote] + sequence)
    }
  }

  @Test func stopsAtTheDepthLimit() throws {
    let deep = { (levels: Int) in
      String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
    }
    _ = try parse(deep(32))
    #expect(throws: JSONError(offset: 32, message: "nested deeper than 32 levels")) {
      try parse(deep(33))
    }
    #expect(throws: JSONError(offset: 32, message: "nested deeper than 32 levels")) {
      try parse(String(repeating: "[", count: 500_000))
    }
    // Siblings are not deeper.
    _ = try parse("[" + String(repeating: "[],", count: 100) + "[]]")
  }

  @Test func stopsAtTheNumberOfValues() throws {
    let limits = JSONLimits(values: 4)
    _ = try JSONValue.parse(Array(#"{"a":[1,2]}"#.utf8), limits: limits)
    #expect(throws: JSONError(offset: 10, message: "more than 4 values")) {
      try JSONValue.parse(Array(#"{"a":[1,2,3]}"#.utf8), limits: limits)
    }
    #expect(throws: JSONError(offset: 29_998, message: "more than 10000 values")) {
      try parse("[" + String(repeating: "[],", count: 20_000) + "[]]")
    }
  }

  @Test func findsADuplicateAmongManyKeys() throws {
    let many = (0..<9_000).map { "\"k\($0)\":0" }.joined(separator: ",")
    _ = try parse("{\(many)}")
    #expect(throws: JSONError(offset: many.utf8.count + 2, message: #"duplicate key "k7""#)) {
      try parse("{\(many),\"k7\":0}")
    }
  }

  @Test func takesTrailingCommasIfAllowed() throws {
    let limits = JSONLimits(allowsTrailingComma: true)
    let value = try JSONValue.parse(Array(#"{"a":[1, ],"b":2, }"#.utf8), limits: limits)
    expect(value["a"], equals: .array([.number("1")]))
    expect(value["b"]?.integer, equals: 2)
    #expect(throws: JSONError(offset: 1, message: "expected a key in quotes")) {
      try JSONValue.parse(Array("{,}".utf8), limits: limits)
    }
    #expect(throws: JSONError(offset: 3, message: "expected a value")) {
      try JSONValue.parse(Array("[1,,]".utf8), limits: limits)
    }
  }

  @Test func lookUpComparesBytesNotGlyphs() throws {
    let value = try parse("{\"\u{212A}ey\":1}")
    expect(value["Key"] == nil)
    expect(value["\u{212A}ey"]?.integer, equals: 1)
  }

  @Test func aLongKeyIsCutInTheMessage() {
    let key = String(repeating: "k", count: 100)
    let shown = String(repeating: "k", count: 64) + "…"
    #expect(throws: JSONError(offset: 107, message: "duplicate key \"\(shown)\"")) {
      try parse("{\"\(key)\":0, \"\(key)\":0}")
    }
  }
}
