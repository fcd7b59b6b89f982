/// Work in the order in which it came. Work that was taken is dropped at once: it may hold a secret.
struct DeferredWork {
  private var items: [(() -> Void)?] = []
  private var taken = 0

  var isEmpty: Bool { items.isEmpty }
  var count: Int { items.count - taken }

  mutating func append(_ work: @escaping () -> Void) { items.append(work) }

  mutating func popFirst() -> (() -> Void)? {
    guard taken < items.count else { return nil }
    let work = items[taken].take()
    taken += 1
    if taken == items.count {
      items = []
      taken = 0
    }
    return work
  }
}
