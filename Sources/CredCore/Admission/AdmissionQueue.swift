/// Calls that are not admitted yet. Calls with a waiting client go first. Among each kind, the
/// profiles are served round robin, even if one has many calls.
struct AdmissionQueue: Sendable {
  struct Entry: Sendable {
    var call: Admission.Call
    let arrived: Instant
  }

  private var entries: [CallID: Entry] = [:]
  private var inPerson = ProfileQueues()
  private var background = ProfileQueues()
  /// All ids by age. Some ids may be of removed calls.
  private var ages = FIFO<CallID>()
  /// Calls without a waiting client.
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

  /// Moves a call to those with a waiting client.
  mutating func prioritise(_ id: CallID) {
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

  /// Removes the call that is admitted next.
  mutating func popFirst() -> Admission.Call? {
    let id =
      if hasCallers {
        inPerson.popFirst { entries[$0] != nil }
      } else {
        background.popFirst { entries[$0].map { !$0.call.isInPerson } ?? false }
      }
    return id.flatMap { remove($0) }
  }

  mutating func removeAll() -> [CallID] {
    defer { self = AdmissionQueue() }
    return entries.keys.sorted()
  }

  mutating func oldest() -> (id: CallID, arrived: Instant)? {
    while let id = ages.first {
      if let entry = entries[id] { return (id, entry.arrived) }
      _ = ages.popFirst()
    }
    return nil
  }

  /// The most ids of removed or moved calls that may stay in the lists.
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

/// One queue for each profile. The profiles are served round robin.
private struct ProfileQueues: Sendable {
  private var queues: [String: FIFO<CallID>] = [:]
  /// Profiles with a queue; the first one is served next.
  private var order = FIFO<String>()
  private(set) var count = 0

  mutating func append(_ call: Admission.Call) {
    if queues[call.profile] == nil { order.append(call.profile) }
    queues[call.profile, default: FIFO()].append(call.id)
    count += 1
  }

  mutating func popFirst(where isThere: (CallID) -> Bool) -> CallID? {
    while let profile = order.popFirst() {
      let found = pop(profile, isThere)
      if queues[profile]?.isEmpty ?? true {
        queues[profile] = nil
      } else {
        order.append(profile)
      }
      if let found { return found }
    }
    return nil
  }

  private mutating func pop(_ profile: String, _ isThere: (CallID) -> Bool) -> CallID? {
    while let id = queues[profile]?.popFirst() {
      count -= 1
      if isThere(id) { return id }
    }
    return nil
  }

  mutating func removeAll(where isGone: (CallID) -> Bool) {
    // An empty queue is removed only when its profile would be served.
    for profile in queues.keys.sorted() { queues[profile]?.removeAll(where: isGone) }
    count = queues.values.reduce(0) { $0 + $1.count }
  }
}

/// A queue in an array. Removed elements stay in front until they are half of it.
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
