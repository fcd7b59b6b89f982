import CredCore

/// The second reading of STS's XML: the text is cut into tags and what is between them.
struct SecondXML {
  private indirect enum Piece: Equatable {
    case open(String), close(String), empty(String), text(String)
  }

  var name = ""
  var children: [SecondXML] = []
  var text = ""

  /// Nil for a text that is none of the XML that credd reads.
  init?(_ bytes: [UInt8]) {
    // Bytes beyond ASCII have no meaning in the markup, so each can be a character of its own.
    var rest = bytes.map { Character(Unicode.Scalar($0)) }[...]
    if String(rest.prefix(3)) == "\u{EF}\u{BB}\u{BF}" { rest = rest.dropFirst(3) }
    rest = rest.drop(while: Self.isSpace)
    if String(rest.prefix(6)) == "<?xml " {
      guard let end = Self.place(of: "?>", in: rest) else { return nil }
      rest = rest[(end + 2)...].drop(while: Self.isSpace)
    }
    guard let pieces = Self.pieces(rest) else { return nil }
    var open: [SecondXML] = []
    var root: SecondXML?
    for piece in pieces {
      guard root == nil else {
        guard case .text(let text) = piece, text.allSatisfy(Self.isSpace) else {
          return nil
        }
        continue
      }
      switch piece {
      case .open(let name): open.append(SecondXML(name: name))
      case .text(let text):
        guard !open.isEmpty, let decoded = Self.decoded(text) else { return nil }
        open[open.count - 1].text += decoded
      case .empty(let name):
        guard let parent = open.popLast() else {
          root = SecondXML(name: name)
          continue
        }
        open.append(parent.with(SecondXML(name: name)))
      case .close(let name):
        guard let done = open.popLast(), done.name == name else { return nil }
        guard let parent = open.popLast() else {
          root = done
          continue
        }
        open.append(parent.with(done))
      }
    }
    guard let root, root.depth <= 16, root.count <= 256 else { return nil }
    self = root
  }

  private init(name: String) { self.name = name }

  private func with(_ child: SecondXML) -> SecondXML {
    var copy = self
    copy.children.append(child)
    return copy
  }

  private var depth: Int { 1 + (children.map(\.depth).max() ?? 0) }
  private var count: Int { 1 + children.reduce(0) { $0 + $1.count } }

  private static func place(of text: String, in rest: ArraySlice<Character>) -> Int? {
    rest.indices.first { String(rest[$0...].prefix(text.count)) == text }
  }

  /// Tags and texts; nil for a tag that is none.
  private static func pieces(_ characters: ArraySlice<Character>) -> [Piece]? {
    var rest = characters
    var pieces: [Piece] = []
    while let first = rest.first {
      guard first == "<" else {
        let text = rest.prefix { $0 != "<" }
        pieces.append(.text(String(text)))
        rest = rest.dropFirst(text.count)
        continue
      }
      // A `>` within quotes does not end the tag.
      var quote: Character?
      let tag = rest.prefix { character in
        if let open = quote {
          if character == open { quote = nil }
          return true
        }
        if character == "\"" || character == "'" { quote = character }
        return character != ">"
      }
      rest = rest.dropFirst(tag.count)
      guard rest.popFirst() == ">", let piece = piece(String(tag.dropFirst())) else { return nil }
      pieces.append(piece)
    }
    return pieces
  }

  /// A carriage return before a line feed is one character.
  private static func isSpace(_ character: Character) -> Bool {
    [" ", "\t", "\r", "\n", "\r\n"].contains(character)
  }

  private static func isNameCharacter(_ character: Character) -> Bool {
    (SecondRules.letters + SecondRules.digits + "-_.:").contains(character)
  }

  /// The inside of a tag: `/name`, or a name, attributes and perhaps a slash.
  private static func piece(_ tag: String) -> Piece? {
    if tag.hasPrefix("/") {
      let name = tag.dropFirst().prefix(while: isNameCharacter)
      let isClosed = tag.dropFirst(1 + name.count).allSatisfy(Self.isSpace)
      return name.isEmpty || !isClosed ? nil : .close(String(name))
    }
    let name = tag.prefix(while: isNameCharacter)
    var rest = tag.dropFirst(name.count).drop(while: Self.isSpace)
    guard !name.isEmpty else { return nil }
    while let first = rest.first {
      if rest == "/" { return .empty(String(name)) }
      guard isNameCharacter(first) else { return nil }
      rest = rest.drop(while: isNameCharacter)
      guard rest.popFirst() == "=", let quote = rest.popFirst(), "\"'".contains(quote),
        let end = rest.firstIndex(of: quote)
      else { return nil }
      rest = rest[end...].dropFirst().drop(while: Self.isSpace)
    }
    return .open(String(name))
  }

  /// The text with its references replaced, each byte still a character.
  private static func decoded(_ text: String) -> String? {
    var result = ""
    let parts = text.split(separator: "&", omittingEmptySubsequences: false)
    for (index, part) in parts.enumerated() {
      guard index > 0 else {
        result += part
        continue
      }
      guard let end = part.prefix(12).firstIndex(of: ";"),
        let scalar = scalar(String(part[..<end]))
      else { return nil }
      result += String(scalar).utf8.map { String(Character(Unicode.Scalar($0))) }.joined()
      result += part[end...].dropFirst()
    }
    return result
  }

  private static func scalar(_ name: String) -> Unicode.Scalar? {
    let known: [String: Unicode.Scalar] = [
      "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'",
    ]
    if let scalar = known[name] { return scalar }
    let isHex = name.hasPrefix("#x")
    let digits = String(name.dropFirst(isHex ? 2 : 1))
    let alphabet = SecondRules.digits + (isHex ? "abcdefABCDEF" : "")
    guard name.hasPrefix("#"), SecondRules.isMade(digits, of: alphabet, 1...12),
      let value = UInt32(digits, radix: isHex ? 16 : 10), value != 0
    else { return nil }
    return Unicode.Scalar(value)
  }
}

extension SecondXML {
  /// The only child of that name.
  subscript(_ name: String) -> SecondXML? {
    let found = children.filter { $0.name == name }
    return found.count == 1 ? found[0] : nil
  }

  /// The bytes of a text.
  var bytes: [UInt8] { text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }

  /// The text of an element without children.
  private func leaf(_ name: String) -> String? {
    self[name].flatMap { element in
      element.children.isEmpty ? String(validating: element.bytes, as: UTF8.self) : nil
    }
  }

  /// The reply to AssumeRoleWithWebIdentity.
  func credentials(date: WallTime?) -> [String?]? {
    let result = self["AssumeRoleWithWebIdentityResult"]
    guard let members = result?["Credentials"], let key = members.leaf("AccessKeyId"),
      let secret = members.leaf("SecretAccessKey"), let session = members.leaf("SessionToken"),
      let expiration = members.leaf("Expiration").flatMap(SecondTime.iso8601),
      let values = SecondReply.credentials(key, secret, session, expiration, date)
    else { return nil }
    let arn = result?["AssumedRoleUser"]?["Arn"]?.bytes
    let parts = arn.map { String(decoding: $0, as: UTF8.self) }?
      .split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    guard let parts, parts.count >= 6, parts[0] == "arn",
      SecondRules.isMade(parts[4], of: SecondRules.digits, 12...12)
    else { return values + [nil] }
    return values + [parts[4]]
  }
}
