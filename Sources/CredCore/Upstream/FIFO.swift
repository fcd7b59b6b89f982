/// A queue in an array: what was taken stays in front until it is half of it.
struct FIFO<Element: Sendable>: Sendable {
  private var elements: [Element] = []
  private var taken = 0

  var isEmpty: Bool { taken == elements.count }
  var count: Int { elements.count - taken }
  var first: Element? { isEmpty ? nil : elements[taken] }

  mutating func append(_ element: Element) {
    elements.append(element)
  }

  mutating func popFirst() -> Element? {
    guard let first else { return nil }
    taken += 1
    if taken * 2 > elements.count {
      elements.removeFirst(taken)
      taken = 0
    }
    return first
  }

  mutating func removeAll(where isUnwanted: (Element) -> Bool) {
    elements.removeFirst(taken)
    taken = 0
    elements.removeAll(where: isUnwanted)
  }
}
