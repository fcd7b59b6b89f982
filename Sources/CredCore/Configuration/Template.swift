/// A text with `{user}`, `{uid}` and `{host}` in it; `{{` and `}}` stand for the braces themselves.
public struct Template: Sendable, Equatable {
  public enum Placeholder: String, Sendable, CaseIterable {
    /// The caller's name in the host's user database.
    case user
    /// The caller's numeric user id, which always exists.
    case uid
    /// The host's name.
    case host
  }

  public enum Part: Sendable, Equatable {
    case literal(String)
    case placeholder(Placeholder)
  }

  /// How the values, not the text around them, are encoded.
  public enum Encoding: Sendable {
    case none
    /// Everything but RFC 3986's unreserved characters as %XX of its UTF-8, so that no value ends
    /// the path segment or the parameter it stands in.
    case urlPath
  }

  /// No two literals follow each other, and none is empty.
  public let parts: [Part]

  /// `{user}`.
  public static let user = Template(parts: [.placeholder(.user)])

  private init(parts: [Part]) {
    self.parts = parts
  }

  /// Throws on an unknown placeholder and on a brace without its counterpart.
  public init(_ text: String) throws(InvalidValue) {
    var parts: [Part] = []
    var literal = ""
    var rest = text[...]
    while let character = rest.first {
      if rest.hasPrefix("{{") || rest.hasPrefix("}}") {
        literal.append(character)
        rest = rest.dropFirst(2)
      } else if character == "{" {
        if !literal.isEmpty { parts.append(.literal(literal)) }
        literal = ""
        parts.append(.placeholder(try Template.takePlaceholder(from: &rest)))
      } else if character == "}" {
        throw InvalidValue("'}' has no '{'; a brace itself is written '}}'")
      } else {
        literal.append(character)
        rest = rest.dropFirst()
      }
    }
    if !literal.isEmpty { parts.append(.literal(literal)) }
    self.parts = parts
  }

  /// As it is written.
  public var text: String {
    parts.map { part in
      switch part {
      case .literal(let text): String(text.flatMap { $0 == "{" || $0 == "}" ? [$0, $0] : [$0] })
      case .placeholder(let placeholder): "{\(placeholder.rawValue)}"
      }
    }.joined()
  }

  private static func takePlaceholder(
    from rest: inout Substring
  ) throws(InvalidValue) -> Placeholder {
    guard let end = rest.firstIndex(of: "}") else {
      throw InvalidValue("'{' has no '}'; a brace itself is written '{{'")
    }
    let name = String(rest[..<end].dropFirst())
    guard let placeholder = Placeholder(rawValue: name) else {
      let known = Placeholder.allCases.map { "{\($0.rawValue)}" }
      throw InvalidValue(
        "the placeholder \("{\(name)}".forMessage) is not known"
          + NearestName.suggestion(
            "{\(name)}", in: known, otherwise: "; known are \(known.joined(separator: ", "))"))
    }
    rest = rest[rest.index(after: end)...]
    return placeholder
  }
}
