import Testing

@testable import CredCore

struct ContainmentTests {
  @Test(
    arguments: [
      ("abc", "", true), ("abc", "a", true), ("abc", "bc", true), ("abc", "abc", true),
      ("aab", "ab", true), ("abc", "abcd", false), ("abc", "ac", false), ("abc", "C", false),
      ("", "", true), ("", "a", false), ("ä", "\u{A4}", false),
    ])
  func texts(_ text: String, _ part: String, _ isThere: Bool) {
    #expect(text.contains(bytesOf: part) == isThere)
    #expect(text[...].contains(bytesOf: part) == isThere)
  }

  @Test func bytes() {
    #expect([UInt8(0), 7, 7, 9].contains(bytes: [7, 9]))
    #expect(![UInt8(0), 7, 7, 9].contains(bytes: [9, 7]))
  }
}
