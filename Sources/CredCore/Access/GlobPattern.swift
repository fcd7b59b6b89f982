/// A pattern as in file names: `*` matches any run of characters, `?` any character, `[a-z]` and
/// `[!a-z]` a character of a set. None of them matches a `/`.
public struct GlobPattern: Sendable, Hashable {
  private enum Element: Sendable, Hashable {
    case anyRun
    case anyOne
    case one(Unicode.Scalar)
    case oneOf([ClosedRange<Unicode.Scalar>], isNegated: Bool)

    func fits(_ character: Unicode.Scalar) -> Bool {
      switch self {
      case .anyRun: false
      case .anyOne: character != "/"
      case .one(let expected): character == expected
      case .oneOf(let ranges, let isNegated):
        character != "/" && ranges.contains { $0.contains(character) } != isNegated
      }
    }
  }

  private let elements: [Element]

  public init(_ pattern: String) {
    var elements: [Element] = []
    var rest = pattern.unicodeScalars[...]
    while let character = rest.popFirst() {
      switch character {
      case "*": elements.append(.anyRun)
      case "?": elements.append(.anyOne)
      case "[": elements.append(Self.set(&rest) ?? .one("["))
      default: elements.append(.one(character))
      }
    }
    self.elements = elements
  }

  /// Whether the whole text matches. The time grows at most with the product of both lengths.
  public func matches(_ text: String) -> Bool {
    var steps = 0
    return matches(text, steps: &steps)
  }

  /// - Parameter steps: grows by one for each pair of an element and a character.
  func matches(_ text: String, steps: inout Int) -> Bool {
    let text = Array(text.unicodeScalars)
    var (position, index) = (0, 0)
    /// The last `*` and the text that it matches so far: the only place to which the search goes
    /// back.
    var star: (position: Int, index: Int)?
    while index < text.count {
      steps += 1
      if position < elements.count, elements[position] == .anyRun {
        star = (position, index)
        position += 1
      } else if position < elements.count, elements[position].fits(text[index]) {
        position += 1
        index += 1
      } else if let (starPosition, starIndex) = star, text[starIndex] != "/" {
        star = (starPosition, starIndex + 1)
        position = starPosition + 1
        index = starIndex + 1
      } else {
        return false
      }
    }
    return elements[position...].allSatisfy { $0 == .anyRun }
  }

  /// Reads a set after its `[`. Returns nil if there is no `]`: then the `[` is an ordinary
  /// character.
  private static func set(_ rest: inout Substring.UnicodeScalarView) -> Element? {
    var body = rest
    let isNegated = body.first == "!"
    if isNegated { body.removeFirst() }
    // A `]` at the start belongs to the set.
    guard let end = body.dropFirst().firstIndex(of: "]") else { return nil }
    rest = body[end...].dropFirst()
    body = body[..<end]
    var ranges: [ClosedRange<Unicode.Scalar>] = []
    while let first = body.popFirst() {
      guard body.first == "-", let last = body.dropFirst().first else {
        ranges.append(first...first)
        continue
      }
      body.removeFirst(2)
      // `[z-a]` is empty.
      if first <= last { ranges.append(first...last) }
    }
    return .oneOf(ranges, isNegated: isNegated)
  }
}
