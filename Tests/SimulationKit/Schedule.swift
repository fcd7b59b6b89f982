import CredCore

/// The future steps, in a binary heap. Steps of the same instant happen in the order in which they
/// were added.
struct Schedule {
  struct Entry {
    let at: Instant
    fileprivate let order: UInt64
    /// The process of the step: the step is dropped when the process ends. 0 for steps that no
    /// process owns.
    let process: Int
    let step: () -> Void
  }

  private var heap: [Entry] = []
  private var order: UInt64 = 0

  mutating func put(at time: Instant, process: Int = 0, _ step: @escaping () -> Void) {
    order += 1
    let entry = Entry(at: time, order: order, process: process, step: step)
    heap.append(entry)
    var place = heap.count - 1
    while place > 0 {
      let parent = (place - 1) / 2
      guard Self.precedes(entry, heap[parent]) else { break }
      heap.swapAt(place, parent)
      place = parent
    }
  }

  mutating func pop() -> Entry? {
    guard !heap.isEmpty else { return nil }
    heap.swapAt(0, heap.count - 1)
    let first = heap.removeLast()
    var place = 0
    while true {
      var child = 2 * place + 1
      guard child < heap.count else { break }
      if child + 1 < heap.count, Self.precedes(heap[child + 1], heap[child]) { child += 1 }
      guard Self.precedes(heap[child], heap[place]) else { break }
      heap.swapAt(place, child)
      place = child
    }
    return first
  }

  /// Drops all future steps, and all objects that they hold.
  mutating func removeAll() { heap = [] }

  private static func precedes(_ one: Entry, _ other: Entry) -> Bool {
    one.at == other.at ? one.order < other.order : one.at < other.at
  }
}
