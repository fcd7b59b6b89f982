import CredCore

/// The times at which sessions must be woken: one binary heap and one timer for all of them.
///
/// A session has at most one entry and knows its place. If its time changes, the entry moves, so
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
    var places = heap.isEmpty ? [] : [0]
    var looks = 0
    while let place = places.popLast(), looks < Self.mostLooks {
      guard heap[place].at < best ?? .distantFuture else { continue }
      looks += 1
      if let found = time(heap[place].session) { best = min(best ?? found, found) }
      // The earlier child is looked at first.
      let children = [2 * place + 1, 2 * place + 2].filter { $0 < heap.count }
      places += children.sorted { heap[$1].at < heap[$0].at }
    }
    return best
  }

  private static let mostLooks = 64

  /// Sessions that will be woken.
  var count: Int { heap.count }

  /// Sets the session's only wake time to the time that its machine asks for.
  mutating func update(_ session: Session) {
    let wake = session.nextWake
    switch session.place.inWakeQueue {
    case let place? where wake == .distantFuture:
      remove(place)
    case let place?:
      heap[place].at = wake
      settle(place)
    case nil where wake < .distantFuture:
      heap.append(Entry(at: wake, session: session))
      settle(heap.count - 1)
    case nil:
      break
    }
  }

  /// Never wakes the session again.
  mutating func remove(_ session: Session) {
    if let place = session.place.inWakeQueue { remove(place) }
  }

  /// Removes and returns the next session that is due. Call ``update(_:)`` afterwards.
  mutating func pop(_ now: Instant) -> Session? {
    guard let first = heap.first, first.at <= now else { return nil }
    remove(0)
    return first.session
  }

  private mutating func remove(_ place: Int) {
    heap[place].session.place.inWakeQueue = nil
    let last = heap.removeLast()
    guard place < heap.count else { return }
    heap[place] = last
    settle(place)
  }

  /// Moves an entry to its new place after its time has changed.
  private mutating func settle(_ place: Int) {
    let entry = heap[place]
    var place = place
    while place > 0, entry.at < heap[(place - 1) / 2].at {
      put(heap[(place - 1) / 2], at: place)
      place = (place - 1) / 2
    }
    while let child = earlierChild(of: place), heap[child].at < entry.at {
      put(heap[child], at: place)
      place = child
    }
    put(entry, at: place)
  }

  private func earlierChild(of place: Int) -> Int? {
    let left = 2 * place + 1
    guard left < heap.count else { return nil }
    let right = left + 1
    return right < heap.count && heap[right].at < heap[left].at ? right : left
  }

  private mutating func put(_ entry: Entry, at place: Int) {
    heap[place] = entry
    entry.session.place.inWakeQueue = place
  }
}
