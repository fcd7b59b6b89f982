import TestSupport
import Testing

@testable import CredCore

struct EncodingTests {
  /// RFC 4648 §10.
  @Test(arguments: [
    ("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob"),
    ("Zm9vYmE=", "fooba"), ("Zm9vYmFy", "foobar"), ("Zg", "f"), ("Zm8", "fo"),
  ])
  func base64(text: String, plain: String) {
    expect(Base64.decode(text.utf8, .standard), equals: Array(plain.utf8))
    expect(Base64.decode(text.utf8, .url), equals: Array(plain.utf8))
  }

  @Test func base64HasTwoAlphabets() {
    expect(Base64.decode("+/+/".utf8, .standard), equals: [0xFB, 0xFF, 0xBF])
    expect(Base64.decode("-_-_".utf8, .url), equals: [0xFB, 0xFF, 0xBF])
    expect(Base64.decode("-_-_".utf8, .standard) == nil)
    expect(Base64.decode("+/+/".utf8, .url) == nil)
    expect(Base64.encodeURL([0xFB, 0xFF, 0xBF, 0xFB]), equals: Array("-_-_-w".utf8))
  }

  @Test(arguments: ["Z", "Zm9vZ", "Zg=", "Z===", "Zg==Zg==", "Z g=", "=", "Zm9v====", "Zm9v="])
  func refusesInvalidBase64(text: String) {
    expect(Base64.decode(text.utf8, .standard) == nil)
  }

  @Test func hex() {
    expect(Hex.encode([0x00, 0x9F, 0xFF]), equals: Array("009fff".utf8))
    expect(Hex.decode("009fFF".utf8), equals: [0x00, 0x9F, 0xFF])
    expect(Hex.decode("0".utf8) == nil)
    expect(Hex.decode("0g".utf8) == nil)
  }

  @Test func percentEncoding() {
    var bytes: [UInt8] = []
    PercentEncoding.append("aZ09-._~ +/&=%é\n".utf8, to: &bytes)
    expect(
      String(decoding: bytes, as: UTF8.self), equals: "aZ09-._~%20%2B%2F%26%3D%25%C3%A9%0A")
  }
}

struct ContainmentTests {
  @Test(
    arguments: [
      ("abc", "", true), ("abc", "a", true), ("abc", "bc", true), ("abc", "abc", true),
      ("aab", "ab", true), ("abc", "abcd", false), ("abc", "ac", false), ("abc", "C", false),
      ("", "", true), ("", "a", false), ("ä", "\u{A4}", false),
    ])
  func findsATextWithinAText(_ text: String, _ part: String, _ isThere: Bool) {
    expect(text.contains(bytesOf: part), equals: isThere)
    expect(text[...].contains(bytesOf: part), equals: isThere)
  }

  @Test func findsBytesWithinBytes() {
    expect([UInt8(0), 7, 7, 9].contains(bytes: [7, 9]))
    expect(![UInt8(0), 7, 7, 9].contains(bytes: [9, 7]))
  }
}
