import CredCore

/// The host's control groups. ``path(ofControlGroup:)`` may take long: call it on a
/// ``BackgroundLane`` only.
package protocol ControlGroupQueries: Sendable {
  /// The path of a group from the root of the host's groups.
  func path(ofControlGroup id: UInt64) -> ControlGroupSearch
  /// Whether the group still exists. Never blocks.
  func isThere(_ path: String, _ id: UInt64) -> Bool
}

/// The end of a walk through the host's control groups.
package enum ControlGroupSearch: Sendable, Equatable {
  case found(String)
  /// All groups were looked at, as far as the limits of a walk allow.
  case missing
  /// Some could not be looked at, for want of descriptors or memory, or of the right to.
  case failed
}

/// A control group that was found, and its unit.
package struct ControlGroup: Sendable, Equatable {
  let id: UInt64
  let path: String
  package let unit: String?

  init(id: UInt64, path: String) {
    self.id = id
    self.path = path
    unit = ControlGroupPath.unit(path)
  }
}

/// The units of control groups. A walk through all groups finds a unit, which is then remembered.
///
/// One user has one walk at a time, so that a user with many groups does not take the threads of
/// others. Each search is answered within ``Limits/Endpoint/unitTime``, even if it waits for other
/// walks of that user.
package final class UnitDirectory {
  package enum Answer: Equatable {
    /// Nil for a group that was not found: it has ended, or is outside of the host's groups.
    case group(ControlGroup?)
    /// The walk did not end in time, or did not begin.
    case overdue
  }

  private struct Asked {
    let until: Instant
    let completion: (Answer) -> Void
  }

  private struct Search {
    /// The user of the walk, once it has begun.
    var walker: UInt32?
    var asked: [Asked] = []
  }

  private let clock: any Clock
  private let background: any Background
  private let queries: any ControlGroupQueries
  private var known: [UInt64: ControlGroup] = [:]
  /// Groups that were not found, and until when they are not looked for again.
  private var missing: [UInt64: Instant] = [:]
  /// Groups that are looked for. There is one walk for each.
  private var searches: [UInt64: Search] = [:]
  /// Groups of a user that wait while another walk of the user goes on. Their walks have perhaps
  /// not begun.
  private var waiting: [UInt32: ArraySlice<UInt64>] = [:]
  private var timer: (any Timer)?
  private var isTimerArmed = false

  package init(
    clock: any Clock, background: any Background, queries: any ControlGroupQueries
  ) {
    self.clock = clock
    self.background = background
    self.queries = queries
  }

  /// A group that was found before and still exists; nil if it must be searched.
  package func known(_ id: UInt64) -> ControlGroup? {
    guard let group = known[id] else { return nil }
    guard isThere(group) else {
      known[id] = nil
      return nil
    }
    return group
  }

  /// Whether a group was looked for a moment ago and not found. So connections of a group that no walk
  /// finds cost one walk a moment, not one each.
  package func isMissing(_ id: UInt64) -> Bool {
    guard let until = missing[id] else { return false }
    if until <= clock.now { missing[id] = nil }
    return missing[id] != nil
  }

  package func isThere(_ group: ControlGroup) -> Bool { queries.isThere(group.path, group.id) }

  /// Looks for a group. The completion comes later, never within this call.
  ///
  /// - Parameter uid: the user of the connection.
  package func find(_ id: UInt64, for uid: UInt32, completion: @escaping (Answer) -> Void) {
    let asked = Asked(until: clock.now + Limits.Endpoint.unitTime, completion: completion)
    searches[id, default: Search()].asked.append(asked)
    if !isTimerArmed { armTimer(at: asked.until) }
    guard searches[id]?.walker == nil else { return }
    // A search never waits in another user's queue, so a group may stand in several queues.
    guard let queue = waiting[uid] else { return walk(to: id, of: uid) }
    if !queue.contains(id) { waiting[uid]?.append(id) }
  }

  private func walk(to id: UInt64, of uid: UInt32) {
    if waiting[uid] == nil { waiting[uid] = [] }
    searches[id]?.walker = uid
    let queries = queries
    background.runOnce(.units, deadline: clock.now + Limits.Endpoint.unitTime) {
      queries.path(ofControlGroup: id)
    } completion: { [weak self] found in
      self?.finish(id, found, of: uid)
    }
  }

  /// - Parameter found: nil if the walk is overdue.
  private func finish(_ id: UInt64, _ found: ControlGroupSearch?, of uid: UInt32) {
    let search = searches.removeValue(forKey: id)
    walkOn(of: uid)
    let answer = found.map { Answer.group(remember(id, $0)) } ?? .overdue
    for asked in search?.asked ?? [] { asked.completion(answer) }
  }

  private func walkOn(of uid: UInt32) {
    while let next = waiting[uid]?.popFirst() {
      // Another user's walk to this group may have begun, or no client may ask for it any more.
      if let search = searches[next], search.walker == nil { return walk(to: next, of: uid) }
    }
    waiting[uid] = nil
  }

  // MARK: Time

  private func armTimer(at deadline: Instant?) {
    if timer == nil { timer = clock.makeTimer { [unowned self] in answerOverdue() } }
    isTimerArmed = deadline != nil
    timer?.arm(at: deadline)
  }

  /// A walk that has begun goes on, and its result is remembered.
  private func answerOverdue() {
    let now = clock.now
    var overdue: [Asked] = []
    for id in searches.keys.sorted() {
      guard var search = searches[id] else { continue }
      overdue += search.asked.prefix { $0.until <= now }
      search.asked.removeFirst(search.asked.prefix { $0.until <= now }.count)
      searches[id] = search.asked.isEmpty && search.walker == nil ? nil : search
    }
    armTimer(at: searches.values.compactMap { $0.asked.first?.until }.min())
    for asked in overdue { asked.completion(.overdue) }
  }

  private func remember(_ id: UInt64, _ found: ControlGroupSearch) -> ControlGroup? {
    switch found {
    case .found(let path):
      if known.count >= Limits.Endpoint.units { known.removeAll(keepingCapacity: true) }
      let group = ControlGroup(id: id, path: path)
      known[id] = group
      return group
    case .missing:
      if missing.count >= Limits.Endpoint.units { missing.removeAll(keepingCapacity: true) }
      missing[id] = clock.now + Limits.Endpoint.missingUnitTime
      return nil
    // It may be there.
    case .failed: return nil
    }
  }
}
