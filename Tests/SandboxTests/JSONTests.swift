import TestSupport
import Testing

@testable import SandboxKit

struct JSONTests {
  @Test func readsWhatItWrites() throws {
    let value: JSON = ["a": [1, "x\n\"\\\u{1}é", true, .null, .number(1.5)], "b": [:]]
    expect(JSON(parsing: value.bytes), equals: value)
  }

  @Test func writesMembersInOrder() {
    let value: JSON = ["b": 1, "a": "x"]
    expect(String(decoding: value.bytes, as: UTF8.self), equals: #"{"a":"x","b":1}"#)
  }

  @Test(arguments: [
    (1_469_653_534.0, "1.469653534E9"), (1_500_000_000.0, "1.5E9"), (2_000_000_000.0, "2.0E9"),
  ])
  func writesTimestampsAsCognitoDoes(_ seconds: Double, _ text: String) {
    expect(String(decoding: JSON.timestamp(seconds).bytes, as: UTF8.self), equals: text)
    expect(JSON(parsing: JSON.timestamp(seconds).bytes), equals: .number(seconds))
  }

  @Test(arguments: ["", "{", "{\"a\":1,}x", "nope"])
  func refusesWhatIsNoJSON(_ text: String) {
    expect(JSON(parsing: Array(text.utf8)) == nil)
  }
}
