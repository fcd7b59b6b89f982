import CredCore
import TestSupport
import Testing

struct JSONWriterTests {
  @Test func writesCompactlyInOrder() {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("b")
    writer.beginArray()
    writer.integer(-1)
    writer.bool(true)
    writer.beginObject()
    writer.endObject()
    writer.string("x")
    writer.endArray()
    writer.key("a")
    writer.raw(Array("[1]".utf8))
    writer.endObject()
    expect(writer.bytes, equals: Array(#"{"b":[-1,true,{},"x"],"a":[1]}"#.utf8))
  }

  @Test(arguments: [
    ("plain é€😀/", "plain é€😀/"),
    ("a\"b\\c", #"a\"b\\c"#), ("\"", #"\""#), ("\\", #"\\"#),
    ("\n\t\0\u{1f}\u{7f}", #"\u000a\u0009\u0000\u001f\u007f"#),
  ])
  func escapesWhatMustBeEscaped(text: String, json: String) {
    var fromText = JSONWriter()
    fromText.string(text)
    expect(fromText.bytes, equals: Array("\"\(json)\"".utf8))
    var fromSecret = JSONWriter()
    fromSecret.string(Secret(text))
    expect(fromSecret.bytes, equals: fromText.bytes)
  }

  @Test func aSecretThatIsNotTextStillGivesJSON() throws {
    var writer = JSONWriter()
    writer.string(Secret([0x61, 0xFF, 0xC3, 0x22, 0xE2, 0x82]))
    expect(try JSONValue.parse(writer.bytes).text, equals: "a\u{FFFD}\u{FFFD}\"\u{FFFD}\u{FFFD}")
  }

  @Test func whatIsWrittenIsReadBack() throws {
    var writer = JSONWriter(capacity: 64)
    writer.beginObject()
    writer.key("\"k\u{1}\"")
    writer.string(Secret("v\u{2}\\😀"))
    writer.endObject()
    let value = try JSONValue.parse(writer.bytes)
    expect(value["\"k\u{1}\""]?.text, equals: "v\u{2}\\😀")
  }
}
