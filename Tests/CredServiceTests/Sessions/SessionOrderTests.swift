import CredCore
import SeededRandom
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// The order of sessions, against a sorted array.
struct SessionOrderTests {
  private func session(_ uid: UInt32, _ profile: String) throws -> Session {
    let resolved = try ServiceFixture.resolved(Configured.usual())
    let known = try #require(resolved.profiles["default"])
    return Session(
      key: SessionKey(uid: uid, profile: profile), profile: known, owner: .nameless,
      machine: SessionMachine(plan: known.plan, now: .seconds(1)))
  }

  private func keys(_ order: SessionOrder, after key: SessionKey?, most: Int = .max) -> [SessionKey]
  {
    var keys: [SessionKey] = []
    order.walk(after: key) { session in
      keys.append(session.key)
      return keys.count < most
    }
    return keys
  }

  @Test func itIsASortedSetWhateverHappens() throws {
    var random = SeededGenerator(seed: 7)
    var order = SessionOrder()
    var sessions: [SessionKey: Session] = [:]
    let profiles = ["a", "b", "default"]
    let sample = try session(0, "a")
    for step in 0..<6000 {
      let key = SessionKey(
        uid: UInt32.random(in: 0..<900, using: &random),
        profile: profiles.randomElement(using: &random) ?? "a")
      // More is inserted than removed at first, and the other way later.
      if let known = sessions[key] {
        guard step > 3000 || Bool.random(using: &random) else { continue }
        order.remove(known)
        sessions[key] = nil
      } else if step < 4500 {
        let new = Session(
          key: key, profile: sample.profile, owner: .nameless, machine: sample.machine)
        order.insert(new)
        sessions[key] = new
      }
      guard step.isMultiple(of: 50) else { continue }
      let sorted = sessions.keys.sorted()
      expect(order.count, equals: sorted.count)
      expect(keys(order, after: nil), equals: sorted)
      expect(keys(order, after: key), equals: sorted.filter { $0 > key })
      expect(keys(order, after: key, most: 3), equals: Array(sorted.filter { $0 > key }.prefix(3)))
      expect(order.sessions(of: key.uid).map(\.key), equals: sorted.filter { $0.uid == key.uid })
    }
  }

  @Test func whatIsNotInItIsNotRemoved() throws {
    var order = SessionOrder()
    let (one, other) = (try session(1, "a"), try session(1, "a"))
    order.remove(one)
    order.insert(one)
    order.remove(other)
    expect(order.sessions(of: 1).count, equals: 1)
    order.remove(one)
    expect(order.sessions(of: 1).isEmpty)
  }
}
