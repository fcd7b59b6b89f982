import CredCore

/// The times at which sessions must be woken: one binary heap and one timer for all of them.
///
/// A session has at most one entry and knows its index. If its time changes, the entry moves, so
/// the heap never has more entries than there are sessions.
struct WakeQueue {
  private struct Entry {
    var at: Instant
    let session: Session
  }

  private var heap: [Entry] = []

  /// The next time at which a session is due.
  var next: Instant? { heap.first?.at }

  /// The session that will be woken next.
  var first: Session? { heap.first?.session }

  /// The earliest `time` of all sessions. The `time` of a session must not be before its wake time.
  /// Looks only at a few sessions.
  func earliest(_ time: (Session) -> Instant?) -> Instant? {
    var best: Instant?
    var indices = heap.isEmpty ? [] : [0]
    var looks = 0
    while let index = indices.popLast(), looks < Self.mostLooks {
      guard heap[index].at < best ?? .distantFuture else { continue }
      looks += 1
      if let found = time(heap[index].session) { best = min(best ?? found, found) }
      // The earlier child is looked at first.
      let children = [2 * index + 1, 2 * index + 2].filter { $0 < heap.count }
      indices += children.sorted { heap[$1].at < heap[$0].at }
    }
    return best
  }

  private static let mostLooks = 64

  /// Sessions that will be woken.
  var count: Int { heap.count }

  /// Sets the session's only wake time to the time that its machine asks for.
  mutating func update(_ session: Session) {
    let wake = session.nextWake
    switch session.registration.inWakeQueue {
    case let index? where wake == .distantFuture:
      remove(index)
    case let index?:
      heap[index].at = wake
      settle(index)
    case nil where wake < .distantFuture:
      heap.append(Entry(at: wake, session: session))
      settle(heap.count - 1)
    case nil:
      break
    }
  }

  /// Never wakes the session again.
  mutating func remove(_ session: Session) {
    if let index = session.registration.inWakeQueue { remove(index) }
  }

  /// Removes and returns the next session that is due. Call ``update(_:)`` afterwards.
  mutating func pop(_ now: Instant) -> Session? {
    guard let first = heap.first, first.at <= now else { return nil }
    remove(0)
    return first.session
  }

  private mutating func remove(_ index: Int) {
    heap[index].session.registration.inWakeQueue = nil
    let last = heap.removeLast()
    guard index < heap.count else { return }
    heap[index] = last
    settle(index)
  }

  /// Moves an entry to its new index after its time has changed.
  private mutating func settle(_ index: Int) {
    let entry = heap[index]
    var index = index
    while index > 0, entry.at < heap[(index - 1) / 2].at {
      put(heap[(index - 1) / 2], at: index)
      index = (index - 1) / 2
    }
    while let child = earlierChild(of: index), heap[child].at < entry.at {
      put(heap[child], at: index)
      index = child
    }
    put(entry, at: index)
  }

  private func earlierChild(of index: Int) -> Int? {
    let left = 2 * index + 1
    guard left < heap.count else { return nil }
    let right = left + 1
    return right < heap.count && heap[right].at < heap[left].at ? right : left
  }

  private mutating func put(_ entry: Entry, at index: Int) {
    heap[index] = entry
    entry.session.registration.inWakeQueue = index
  }
}
