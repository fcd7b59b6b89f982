/// Calls that wait for their turn: those that somebody waits for before all others, and among each
/// kind one of each lane in turn, however many a lane has.
struct FairQueue: Sendable {
  struct Entry: Sendable {
    var call: Admission.Call
    let arrived: Instant
  }

  private var entries: [CallID: Entry] = [:]
  private var inPerson = Lanes()
  private var background = Lanes()
  /// All, by age; some have gone.
  private var ages = FIFO<CallID>()
  /// Those nobody waits for.
  private(set) var backgroundCount = 0

  var isEmpty: Bool { entries.isEmpty }
  var count: Int { entries.count }
  var hasCallers: Bool { entries.count > backgroundCount }

  mutating func append(_ call: Admission.Call, _ now: Instant) {
    entries[call.id] = Entry(call: call, arrived: now)
    ages.append(call.id)
    if call.isInPerson {
      inPerson.append(call)
    } else {
      background.append(call)
      backgroundCount += 1
    }
    prune()
  }

  /// Somebody waits for it from now on.
  mutating func hurry(_ id: CallID) {
    guard let call = entries[id]?.call, !call.isInPerson else { return }
    entries[id]?.call.isInPerson = true
    backgroundCount -= 1
    inPerson.append(call)
  }

  @discardableResult
  mutating func remove(_ id: CallID) -> Admission.Call? {
    guard let call = entries.removeValue(forKey: id)?.call else { return nil }
    if !call.isInPerson { backgroundCount -= 1 }
    return call
  }

  /// Takes the one whose turn it is.
  mutating func popFirst() -> Admission.Call? {
    let id =
      if hasCallers {
        inPerson.popFirst { entries[$0] != nil }
      } else {
        background.popFirst { entries[$0].map { !$0.call.isInPerson } ?? false }
      }
    return id.flatMap { remove($0) }
  }

  /// Takes all, in no order that matters.
  mutating func removeAll() -> [CallID] {
    defer { self = FairQueue() }
    return entries.keys.sorted()
  }

  /// When the oldest came.
  mutating func oldest() -> (id: CallID, arrived: Instant)? {
    while let id = ages.first {
      if let entry = entries[id] { return (id, entry.arrived) }
      _ = ages.popFirst()
    }
    return nil
  }

  /// What is gone or has moved leaves its place behind; never more of those than this.
  private static let slack = 1024

  private mutating func prune() {
    let most = 2 * entries.count + Self.slack
    if ages.count > most { ages.removeAll { entries[$0] == nil } }
    if inPerson.count > most { inPerson.removeAll { entries[$0] == nil } }
    if background.count > most {
      background.removeAll { entries[$0].map(\.call.isInPerson) ?? true }
    }
  }
}

/// A queue a lane, and the lanes in turn.
private struct Lanes: Sendable {
  private var lanes: [String: FIFO<CallID>] = [:]
  private var turns = FIFO<String>()
  private(set) var count = 0

  mutating func append(_ call: Admission.Call) {
    if lanes[call.lane] == nil { turns.append(call.lane) }
    lanes[call.lane, default: FIFO()].append(call.id)
    count += 1
  }

  mutating func popFirst(where isThere: (CallID) -> Bool) -> CallID? {
    while let lane = turns.popFirst() {
      let found = pop(lane, isThere)
      if lanes[lane]?.isEmpty ?? true {
        lanes[lane] = nil
      } else {
        turns.append(lane)
      }
      if let found { return found }
    }
    return nil
  }

  private mutating func pop(_ lane: String, _ isThere: (CallID) -> Bool) -> CallID? {
    while let id = lanes[lane]?.popFirst() {
      count -= 1
      if isThere(id) { return id }
    }
    return nil
  }

  mutating func removeAll(where isGone: (CallID) -> Bool) {
    // A lane that is empty now keeps its turn and loses it when that comes.
    for lane in lanes.keys.sorted() { lanes[lane]?.removeAll(where: isGone) }
    count = lanes.values.reduce(0) { $0 + $1.count }
  }
}

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
