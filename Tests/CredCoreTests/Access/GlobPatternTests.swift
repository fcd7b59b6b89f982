import SeededRandom
import TestSupport
import Testing

@testable import CredCore

struct GlobPatternTests {
  @Test(arguments: [
    ("", ""), ("*", ""), ("*", "anything"), ("**", "x"), ("a*", "a"), ("*a", "bca"),
    ("a*b*c", "aXbYbZc"), ("a?c", "abc"), ("job-*.service", "job-.service"),
    ("[abc]x", "bx"), ("[a-c]x", "cx"), ("[!a-c]x", "dx"), ("[]]", "]"), ("[!]]", "a"),
    ("[a-]", "-"), ("[-a]", "-"), ("[a-cx-z]", "y"), ("[", "["), ("a[b", "a[b"), ("[!", "[!"),
    ("[]", "[]"), ("*[0-9].service", "db-7.service"), ("*.service", ".service.service"),
    ("user@*.service", "user@1000.service"), ("?", "\u{1F600}"), ("[*]", "*"), ("[?]", "?"),
    (#"dev-disk\x2d*"#, #"dev-disk\x2da"#),
  ])
  func fits(_ pattern: String, _ text: String) {
    expect(GlobPattern(pattern).matches(text))
  }

  @Test(arguments: [
    ("", "a"), ("a", ""), ("a", "ab"), ("b", "ab"), ("?", ""), ("?", "ab"), ("a*b", "abc"),
    ("a*b*c", "acb"), ("[abc]", "d"), ("[a-c]", "d"), ("[!a-c]", "b"), ("[!a]", ""),
    ("[c-a]", "b"), ("[]]", "["), ("[", ""), ("[", "a"), ("*[!0-9]", "7"), ("[a]", "A"),
    ("a.c", "abc"), ("*.service", "service"), ("[*]", "a"), ("job-?.service", "job-10.service"),
    ("a", "a\u{301}"), ("[a-]", "b"),
  ])
  func doesNotFit(_ pattern: String, _ text: String) {
    expect(!GlobPattern(pattern).matches(text))
  }

  /// Patterns that take naive matchers years, at the longest that a configuration may hold.
  @Test(arguments: [
    String(repeating: "*a", count: 127), String(repeating: "*?", count: 127),
    String(repeating: "*[!b]", count: 51), "*" + String(repeating: "[", count: 254),
    String(repeating: "*[", count: 127), "*[" + String(repeating: "a-z", count: 84) + "]Z",
  ])
  func noPatternTakesLongToMatch(_ pattern: String) {
    for character in ["a", "["] {
      let text = String(repeating: character, count: 254)
      var steps = 0
      expect(!GlobPattern(pattern + "b").matches(text, steps: &steps))
      expect(steps <= (pattern.count + 1) * text.count, "\(steps)")
    }
  }

  /// Any bytes are a pattern, and none is a crash.
  @Test func aTextFitsItselfWithItsSpecialCharactersInBrackets() {
    var generator = SeededGenerator(seed: 3)
    let alphabet = Array("ab-!*?.@")
    for _ in 0..<500 {
      let length = Int.random(in: 0...12, using: &generator)
      let text = String((0..<length).compactMap { _ in alphabet.randomElement(using: &generator) })
      let quoted = text.map { "*?".contains($0) ? "[\($0)]" : String($0) }.joined()
      expect(GlobPattern(quoted).matches(text))
      expect(GlobPattern(quoted + "*").matches(text + "]["))
      expect(!GlobPattern(quoted + "x").matches(text))
    }
  }

  @Test func randomPatternsMatchAsASlowerMatcherSays() {
    var generator = SeededGenerator(seed: 9)
    let patternLetters = Array("ab*?[]!-")
    let textLetters = Array("ab[]!-")
    for _ in 0..<3000 {
      let pattern = (0..<Int.random(in: 0...8, using: &generator)).compactMap { _ in
        patternLetters.randomElement(using: &generator)
      }
      let text = (0..<Int.random(in: 0...6, using: &generator)).compactMap { _ in
        textLetters.randomElement(using: &generator)
      }
      expect(
        GlobPattern(String(pattern)).matches(String(text)), equals: fits(pattern[...], text[...]),
        "\(String(pattern)) on \(String(text))")
    }
  }

  /// The textbook's definition, by recursion.
  private func fits(_ pattern: ArraySlice<Character>, _ text: ArraySlice<Character>) -> Bool {
    guard let first = pattern.first else { return text.isEmpty }
    let rest = pattern.dropFirst()
    if first == "*" {
      return fits(rest, text) || (!text.isEmpty && fits(pattern, text.dropFirst()))
    }
    guard let character = text.first else { return false }
    if first == "?" { return fits(rest, text.dropFirst()) }
    if first == "[", let (isMember, behind) = set(rest, character) {
      return isMember && fits(behind, text.dropFirst())
    }
    return first == character && fits(rest, text.dropFirst())
  }

  private func set(
    _ body: ArraySlice<Character>, _ character: Character
  ) -> (isMember: Bool, behind: ArraySlice<Character>)? {
    let isNegated = body.first == "!"
    let body = isNegated ? body.dropFirst() : body
    guard let end = body.dropFirst().firstIndex(of: "]") else { return nil }
    var members = body[..<end]
    var isMember = false
    while let first = members.popFirst() {
      if members.count >= 2, members.first == "-" {
        members.removeFirst()
        if let last = members.popFirst(), first <= character, character <= last { isMember = true }
      } else if first == character {
        isMember = true
      }
    }
    return (isMember != isNegated, body[end...].dropFirst())
  }
}
