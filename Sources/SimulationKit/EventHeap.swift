import CredCore

/// What happens when: a binary heap; things of the same instant happen in the order they were put.
struct EventHeap {
  enum Kind {
    /// A machine asked to be woken.
    case wakeSession(Int)
    case wakeGate(Int)
    /// A call's outcome arrives, or its refusal.
    case reply(CallID)
    /// Apps and people.
    case use(Int)
    case act(Int)
    case leave(session: Int, waiter: UInt64)
    /// The world.
    case weather(Int)
    case sleep
    case clockJump
    case restart
    case hourBegins
    case calm
    /// In the calm after: everyone asks once.
    case finalAsk(Int)
    case finalSignIn(Int)
    case end
  }

  struct Event {
    let at: Instant
    let order: UInt64
    let kind: Kind
  }

  private var heap: [Event] = []
  private var order: UInt64 = 0

  mutating func put(_ kind: Kind, at time: Instant) {
    order += 1
    heap.append(Event(at: time, order: order, kind: kind))
    var place = heap.count - 1
    let event = heap[place]
    while place > 0 {
      let parent = (place - 1) / 2
      guard Self.precedes(event, heap[parent]) else { break }
      heap[place] = heap[parent]
      place = parent
    }
    heap[place] = event
  }

  mutating func pop() -> Event? {
    guard let first = heap.first, let last = heap.popLast() else { return nil }
    guard !heap.isEmpty else { return first }
    var place = 0
    while true {
      var child = 2 * place + 1
      guard child < heap.count else { break }
      if child + 1 < heap.count, Self.precedes(heap[child + 1], heap[child]) { child += 1 }
      guard Self.precedes(heap[child], last) else { break }
      heap[place] = heap[child]
      place = child
    }
    heap[place] = last
    return first
  }

  private static func precedes(_ lhs: Event, _ rhs: Event) -> Bool {
    lhs.at == rhs.at ? lhs.order < rhs.order : lhs.at < rhs.at
  }
}
