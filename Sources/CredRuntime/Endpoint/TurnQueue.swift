/// Elements with something to do. Owners take turns, however many elements each has.
struct TurnQueue<Owner: Hashable, Element> {
  private var owners: ArraySlice<Owner> = []
  private var elements: [Owner: ArraySlice<Element>] = [:]
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  mutating func append(_ element: Element, of owner: Owner) {
    count += 1
    if elements[owner] == nil { owners.append(owner) }
    elements[owner, default: []].append(element)
  }

  mutating func popFirst() -> Element? {
    guard let owner = owners.popFirst() else { return nil }
    let element = elements[owner]?.popFirst()
    if elements[owner]?.isEmpty ?? true { elements[owner] = nil } else { owners.append(owner) }
    if element != nil { count -= 1 }
    return element
  }
}
