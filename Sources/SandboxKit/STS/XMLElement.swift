/// An element of an XML reply.
struct XMLElement {
  enum Content {
    case text(String)
    case elements([XMLElement])
  }

  let name: String
  let content: Content
  var namespace: String?

  init(_ name: String, _ text: String) {
    self.name = name
    self.content = .text(text)
  }

  init(_ name: String, namespace: String? = nil, _ elements: [XMLElement]) {
    self.name = name
    self.content = .elements(elements)
    self.namespace = namespace
  }

  /// The element as text, indented as AWS does it.
  func text(indent: String = "") -> String {
    let opening = namespace.map { "<\(name) xmlns=\"\($0)\">" } ?? "<\(name)>"
    switch content {
    case .text(let text): return "\(indent)\(opening)\(XMLElement.escaped(text))</\(name)>\n"
    case .elements(let elements):
      let inner = elements.map { $0.text(indent: indent + "  ") }.joined()
      return "\(indent)\(opening)\n\(inner)\(indent)</\(name)>\n"
    }
  }

  static func escaped(_ text: String) -> String {
    text.reduce(into: "") { escaped, character in
      switch character {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      default: escaped.append(character)
      }
    }
  }
}
