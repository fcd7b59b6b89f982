/// Users, passwords and queries in the URLs of a text that a program wrote.
enum URLLogins {
  /// What stands before a host and its login; in JSON a slash may have a backslash.
  private static let marks = ["://", ":\\/\\/"].map { Array($0.utf8) }
  /// The same at the start of a word, where the scheme is left out.
  private static let marksWithoutScheme = ["//", "\\/\\/"].map { Array($0.utf8) }
  private static let at = UInt8(ascii: "@")
  private static let hidden = Array("…".utf8)

  /// The text without them. A password may hold any character, so what could be one is taken out too.
  static func removed(from text: [UInt8]) -> [UInt8] {
    let shown = removed(from: text, words: withoutLogins, url: withoutLoginAndQuery)
    return eachWord(of: shown[...], withoutValues)
  }

  /// AWS's text has links and ARNs. The query of a link says where the link leads, and an ARN has `:`
  /// and `@`.
  static func removedOfAWS(from text: [UInt8]) -> [UInt8] {
    removed(from: text, words: { Array($0) }, url: withoutLogin)
  }

  /// - Parameters:
  ///   - words: what is shown of the text before the first URL.
  ///   - url: what is shown of a URL behind its mark, and of the text up to the next one.
  private static func removed(
    from text: [UInt8], words: (ArraySlice<UInt8>) -> [UInt8],
    url: (ArraySlice<UInt8>) -> [UInt8]
  ) -> [UInt8] {
    var next = mark(in: text, from: 0)
    var shown = words(text[..<(next?.lowerBound ?? text.endIndex)])
    while let mark = next {
      next = Self.mark(in: text, from: mark.upperBound)
      shown += text[mark]
      shown += url(text[mark.upperBound..<(next?.lowerBound ?? text.endIndex)])
    }
    return shown
  }

  /// The next mark. One in the query of the URL at `start` is a part of the query.
  private static func mark(in text: [UInt8], from start: Int) -> Range<Int>? {
    var (isInURL, isInQuery) = (start > 0, false)
    for index in start..<text.endIndex {
      if text[index].isWhiteSpace { (isInURL, isInQuery) = (false, false) }
      if isInURL, beginsQuery(text[index]) { isInQuery = true }
      guard !isInQuery else { continue }
      let beginsWord = index == 0 || endsWord(text[index - 1])
      let marks = beginsWord ? marks + marksWithoutScheme : marks
      for mark in marks where text[index...].starts(with: mark) {
        return index..<(index + mark.count)
      }
    }
    return nil
  }

  private static func endsWord(_ byte: UInt8) -> Bool {
    byte.isWhiteSpace || "'\"(<=".utf8.contains(byte)
  }

  /// Hides what stands before an `@` in a word, if it has a `:`. An address of e-mail has none.
  private static func withoutLogins(_ text: ArraySlice<UInt8>) -> [UInt8] {
    eachWord(of: text) { word in
      guard let last = word.lastIndex(of: at), word[..<last].contains(UInt8(ascii: ":")) else {
        return Array(word)
      }
      return hidden + word[last...]
    }
  }

  /// Hides the query of a path without a scheme and a host, such as `/v1?token=…`.
  private static func withoutValues(_ word: ArraySlice<UInt8>) -> [UInt8] {
    guard let mark = word.firstIndex(where: beginsQuery), word[mark...].contains(UInt8(ascii: "="))
    else { return Array(word) }
    return word[...mark] + hidden
  }

  private static func eachWord(
    of text: ArraySlice<UInt8>, _ shown: (ArraySlice<UInt8>) -> [UInt8]
  ) -> [UInt8] {
    let words = text.split(omittingEmptySubsequences: false, whereSeparator: \.isWhiteSpace)
    return Array(words.map(shown).joined(separator: " ".utf8))
  }

  private static func beginsQuery(_ byte: UInt8) -> Bool { "?#".utf8.contains(byte) }

  /// Behind an `@` in a query there may be more of the query: then the rest of the word is hidden too.
  private static func withoutLoginAndQuery(_ text: ArraySlice<UInt8>) -> [UInt8] {
    guard let last = text.lastIndex(of: at), text[..<last].contains(where: beginsQuery) else {
      return withoutQuery(withoutLogin(text)[...])
    }
    return hidden + text[last...].drop { !$0.isWhiteSpace }
  }

  /// Hides all up to the last `@`: a blank may be a part of the password.
  private static func withoutLogin(_ text: ArraySlice<UInt8>) -> [UInt8] {
    if let last = text.lastIndex(of: at) { return hidden + text[last...] }
    let authority = text.prefix { !$0.isWhiteSpace && !"/\\?#,;'\"<>()".utf8.contains($0) }
    return isServer(authority) ? Array(text) : hidden + text.dropFirst(authority.count)
  }

  /// Hides query and fragment of the URL, which may have a token.
  private static func withoutQuery(_ text: ArraySlice<UInt8>) -> [UInt8] {
    let url = text.prefix { !$0.isWhiteSpace }
    guard let mark = url.firstIndex(where: beginsQuery), mark + 1 < url.endIndex
    else { return Array(text) }
    return text[...mark] + hidden + text[url.endIndex...]
  }

  /// Whether it is a host with a port or without one, perhaps at the end of a sentence.
  private static func isServer(_ authority: ArraySlice<UInt8>) -> Bool {
    if authority.first == UInt8(ascii: "[") { return true }
    var server = authority
    while let last = server.last, ".:".utf8.contains(last) { server.removeLast() }
    let parts = server.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    return parts.count < 2 || parts.count == 2 && parts[1].allSatisfy(\.isDigit)
  }
}
