import CredCore

/// A second reading of a browser's request: as text in Latin-1, line by line.
struct SecondBrowser {
  private enum Reading {
    case more
    case refused
    case request(method: String, target: String, host: String)
  }

  private let reading: Reading

  init(_ bytes: [UInt8]) {
    let text = Self.latin1(bytes)
    let parts = Self.split(text, "\r\n\r\n", once: true)
    guard parts.count == 2 else {
      reading = Self.mayGrow(text) ? .more : .refused
      return
    }
    reading =
      text.count - parts[1].count <= BrowserRequest.headBytes ? Self.read(parts[0]) : .refused
  }

  func shown(back redirectURI: String) -> String? {
    switch reading {
    case .more: return "more"
    case .refused: return nil
    case .request(let method, let target, let host):
      let place = String(redirectURI.dropFirst("http://".count))
      let authority = String(place.prefix { $0 != "/" })
      guard host.lowercased() == authority else { return "host" }
      guard method == "GET" else { return "method" }
      if target == FuzzTarget.browserStart { return "start" }
      let path = String(place.dropFirst(authority.count))
      guard target.hasPrefix(path + "?") else { return "other" }
      let query = String(target.dropFirst(path.count + 1))
      return Self.hasState(Array(query.utf8)) ? "response " + query : "other"
    }
  }

  /// Whether a query has the state, and no second one.
  static func hasState(_ query: [UInt8]) -> Bool {
    let states = split(latin1(query), "&").compactMap { pair -> [UInt8]? in
      let sides = split(pair, "=", once: true)
      guard let name = decoded(sides[0]), name == Array("state".utf8) else { return nil }
      return sides.count == 2 ? decoded(sides[1]) ?? [] : []
    }
    return states == [Array(FuzzTarget.browserState.utf8)]
  }

  private static func read(_ head: [Character]) -> Reading {
    var lines = split(head, "\r\n")
    let words = split(lines.removeFirst(), " ").map { String($0) }
    guard words.count == 3, (1...20).contains(words[0].count),
      words[0].allSatisfy({ ("A"..."Z").contains($0) }), words[1].hasPrefix("/"),
      words[1].allSatisfy({ ("!"..."~").contains($0) }),
      ["HTTP/1.1", "HTTP/1.0"].contains(words[2]), lines.count <= 128
    else { return .refused }
    var hosts: [String] = []
    for line in lines {
      let sides = split(line, ":", once: true)
      guard sides.count == 2, !sides[0].isEmpty, sides[0].allSatisfy(isOfName),
        line.allSatisfy({ $0 == "\t" || $0 >= " " && $0 != "\u{7F}" })
      else { return .refused }
      if String(sides[0]).lowercased() == "host" {
        var value = sides[1]
        while let first = value.first, first == " " || first == "\t" { value.removeFirst() }
        while let last = value.last, last == " " || last == "\t" { value.removeLast() }
        hosts.append(String(value))
      }
    }
    guard hosts.count == 1 else { return .refused }
    return .request(method: words[0], target: words[1], host: hosts[0])
  }

  /// Whether more bytes may make it a request.
  private static func mayGrow(_ text: [Character]) -> Bool {
    guard text.count < BrowserRequest.headBytes else { return false }
    let method = text.prefix { $0 != " " }
    return method.count <= 20 && method.allSatisfy { ("A"..."Z").contains($0) }
  }

  private static func isOfName(_ character: Character) -> Bool {
    character.isASCII
      && (character.isLetter || character.isNumber || "!#$%&'*+-.^_`|~".contains(character))
  }

  private static func decoded(_ text: [Character]) -> [UInt8]? {
    SecondPercent.decode(text.flatMap(\.unicodeScalars).map { UInt8($0.value) })
  }

  /// One character a byte: CR and LF stay two.
  private static func latin1(_ bytes: [UInt8]) -> [Character] {
    bytes.map { Character(Unicode.Scalar($0)) }
  }

  private static func split(
    _ text: [Character], _ separator: String, once: Bool = false
  ) -> [[Character]] {
    let separator = separator.unicodeScalars.map { Character($0) }
    var parts: [[Character]] = []
    var start = 0
    var index = 0
    while index + separator.count <= text.count {
      if Array(text[index..<(index + separator.count)]) == separator, !once || parts.isEmpty {
        parts.append(Array(text[start..<index]))
        start = index + separator.count
        index = start
      } else {
        index += 1
      }
    }
    return parts + [Array(text[start...])]
  }
}
