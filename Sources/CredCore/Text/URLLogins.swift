/// Users and passwords in the URLs of a text that a program wrote.
enum URLLogins {
  private static let separator = Array("://".utf8)
  private static let at = UInt8(ascii: "@")

  /// The text without them. A password may hold any character, so what could be one is taken out too.
  static func removed(from text: [UInt8]) -> [UInt8] {
    var (shown, rest): ([UInt8], ArraySlice<UInt8>) = ([], text[...])
    while let start = end(ofSeparator: rest) {
      shown += rest[..<start]
      rest = rest[start...]
      let (hidden, length) = login(in: rest)
      shown += hidden.utf8
      rest = rest.dropFirst(length)
    }
    return shown + rest
  }

  private static func end(ofSeparator text: ArraySlice<UInt8>) -> Int? {
    text.indices.first { text[$0...].starts(with: separator) }.map { $0 + separator.count }
  }

  /// What stands for the login at the start of the text, and how many bytes it replaces.
  private static func login(in text: ArraySlice<UInt8>) -> (shown: String, length: Int) {
    let part = end(ofSeparator: text).map { text[..<($0 - separator.count)] } ?? text
    let authority = part.prefix { !$0.isWhiteSpace && !"/?#,;'\"<>()".utf8.contains($0) }
    let isServer = isServer(authority)
    let scope = isServer ? part.prefix { !$0.isWhiteSpace } : part
    if let last = scope.lastIndex(of: at) { return ("…@", last + 1 - scope.startIndex) }
    return isServer ? ("", 0) : ("…", authority.count)
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
