/// One element of an answer of STS.
struct XMLElement: Equatable {
  var name: String
  var children: [XMLElement] = []
  /// Decoded; for an element with children, what stands between them.
  var text = Secret([])

  /// The one child of that name; nil where there is none, or more than one.
  subscript(_ name: String) -> XMLElement? {
    let found = children.filter { $0.name == name }
    return found.count == 1 ? found[0] : nil
  }
}

extension XMLElement {
  /// The text of a child that must be there and hold something.
  func required(_ name: String) throws(InvalidInput) -> Secret {
    guard let child = self[name] else { throw InvalidInput(field: name, reason: "is missing") }
    guard child.children.isEmpty, !child.text.isEmpty else {
      throw InvalidInput(field: name, reason: "is empty or no text")
    }
    return child.text
  }

  /// The same for what is not secret.
  func requiredText(_ name: String) throws(InvalidInput) -> String {
    guard let text = try required(name).exposedText() else {
      throw InvalidInput(field: name, reason: "is not UTF-8")
    }
    return text
  }
}
