import Testing

@testable import CredRuntime

struct LogHandlerTests {
  @Test(arguments: [
    ("a\nb", "a b"), ("a\r\nb", "a  b"), ("\u{1B}[31mred\u{7}", " [31mred "), ("a\0b", "a b"),
    ("\u{9B}1m", " 1m"), ("tab\there", "tab here"), ("grün ☂ 字", "grün ☂ 字"), ("", ""),
  ])
  func `control characters become spaces`(_ text: String, _ line: String) {
    #expect(text.onOneLine == line)
  }
}
