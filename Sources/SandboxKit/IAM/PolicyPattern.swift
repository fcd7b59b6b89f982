/// A text of a policy with wildcards and variables (IAM user guide, "Resource", "Policy variables").
///
/// `*` stands for any text, `?` for one character, `${key}` for a value of the request. `${*}`, `${?}`
/// and `${$}` are these three characters themselves.
struct PolicyPattern: Sendable, Equatable {
  private enum Part: Sendable, Equatable {
    case character(Unicode.Scalar)
    case anyText
    case anyCharacter
    case variable(String)
  }

  private let parts: [Part]

  /// `*`.
  static let anyText = PolicyPattern(parts: [.anyText])

  private init(parts: [Part]) {
    self.parts = parts
  }

  /// - Parameter hasWildcards: whether `*` and `?` stand for more than themselves.
  init(_ text: String, hasWildcards: Bool = true) throws(ServiceError) {
    var parts: [Part] = []
    var rest = Substring(text).unicodeScalars
    while let scalar = rest.popFirst() {
      switch scalar {
      case "*" where hasWildcards: parts.append(.anyText)
      case "?" where hasWildcards: parts.append(.anyCharacter)
      case "$" where rest.first == "{":
        guard let end = rest.firstIndex(of: "}") else {
          throw PolicyDocument.malformed("The policy failed legacy parsing")
        }
        let name = String(rest[rest.index(after: rest.startIndex)..<end])
        rest = rest[rest.index(after: end)...]
        parts.append(try PolicyPattern.variable(name))
      default: parts.append(.character(scalar))
      }
    }
    self.parts = parts
  }

  private static func variable(_ name: String) throws(ServiceError) -> Part {
    switch name {
    case "*", "?", "$": return .character(name.unicodeScalars.first ?? "$")
    default: break
    }
    guard !name.isEmpty, !name.contains(where: { $0 == "," || $0 == "'" || $0 == "{" }) else {
      throw PolicyDocument.notEvaluated("the variable ${\(name)}")
    }
    return .variable(name.lowercased())
  }

  /// Whether the pattern fits a text.
  ///
  /// - Parameter values: of the request, by their lower-case names. A pattern with a variable that has
  ///   no value fits nothing.
  func matches(_ text: String, values: [String: String] = [:], ignoringCase: Bool = false) -> Bool {
    var parts: [Part] = []
    for part in self.parts {
      guard case .variable(let name) = part else {
        parts.append(part)
        continue
      }
      guard let value = values[name] else { return false }
      parts += value.unicodeScalars.map { .character($0) }
    }
    return PolicyPattern.matches(
      Array(text.unicodeScalars), parts[...],
      ignoringCase ? { $0.properties.lowercaseMapping } : nil)
  }

  /// Goes back to the last `*` alone: what an earlier one took does not matter any more.
  private static func matches(
    _ text: [Unicode.Scalar], _ parts: ArraySlice<Part>, _ fold: ((Unicode.Scalar) -> String)?
  ) -> Bool {
    var (position, part) = (0, parts.startIndex)
    var retry: (position: Int, part: Int)?
    while position < text.count {
      if part < parts.endIndex, case .anyText = parts[part] {
        part += 1
        retry = (position, part)
      } else if part < parts.endIndex, fits(parts[part], text[position], fold) {
        position += 1
        part += 1
      } else if let last = retry {
        retry = (last.position + 1, last.part)
        (position, part) = (last.position + 1, last.part)
      } else {
        return false
      }
    }
    return parts[part...].allSatisfy { $0 == .anyText }
  }

  private static func fits(
    _ part: Part, _ scalar: Unicode.Scalar, _ fold: ((Unicode.Scalar) -> String)?
  ) -> Bool {
    switch part {
    case .character(let expected):
      if let fold { fold(expected) == fold(scalar) } else { expected == scalar }
    case .anyCharacter: true
    case .anyText, .variable: false
    }
  }
}
