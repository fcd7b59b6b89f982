import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Calls to one endpoint that wait for their turn.
struct CallQueueTests {
  private let clock = VirtualClock()
  private var ids = CallIDs()

  private func call(_ id: CallID, isInPerson: Bool = false) -> Admission.Call {
    Admission.Call(id: id, profile: "work", isInPerson: isInPerson, isRetry: false)
  }

  @Test mutating func `one call at a time, and a withdrawn call is never made`() {
    let queue = CallQueue(.backend("corp"), .init(rate: .perSecond(1000), width: 1))
    let (first, second, third) = (ids.next(), ids.next(), ids.next())
    var made: [CallID] = []
    for id in [first, second, third] {
      queue.enter(call(id), clock) { if $0 == nil { made.append(id) } }
    }
    expect(made, equals: [first])
    expect(queue.withdraw(second, clock))
    queue.handle(.ended(first, nil), clock)
    expect(made, equals: [first, third])
    queue.handle(.ended(third, nil), clock)
    expect(made, equals: [first, third])
  }

  @Test mutating func `a call that had its turn cannot be withdrawn`() {
    let queue = CallQueue(.backend("corp"), .init(rate: .perSecond(1000), width: 1))
    let first = ids.next()
    queue.enter(call(first), clock) { _ in }
    expect(!queue.withdraw(first, clock))
    expect(!queue.withdraw(ids.next(), clock))
  }

  @Test mutating func `a call that waits for one more turn is withdrawn`() {
    let queue = CallQueue(.backend("corp"), .init(rate: .perSecond(1), width: 1))
    let (first, second) = (ids.next(), ids.next())
    var made: [CallID] = []
    queue.enter(call(first), clock) { _ in made.append(first) }
    queue.enterAgain(first, clock) { _ in made.append(first) }
    queue.enter(call(second), clock) { _ in made.append(second) }
    expect(queue.withdraw(first, clock))
    clock.advance(to: queue.nextWake)
    queue.handle(.timePassed, clock)
    expect(made, equals: [first, second])
  }

  @Test mutating func `a call that a client waits for overtakes calls ahead of time`() {
    let queue = CallQueue(.backend("corp"), .init(rate: .perSecond(1000), width: 1))
    let (first, early, late) = (ids.next(), ids.next(), ids.next())
    var made: [CallID] = []
    for id in [first, early, late] { queue.enter(call(id), clock) { _ in made.append(id) } }
    queue.handle(.prioritised(late), clock)
    queue.handle(.ended(first, nil), clock)
    expect(made, equals: [first, late])
  }

  @Test mutating func `an outage ends calls at once`() {
    let queue = CallQueue(.cognitoIdentity, .init(rate: .perSecond(1000), width: 8))
    var failures: [UpstreamFailure?] = []
    for _ in 1...6 {
      let id = ids.next()
      queue.enter(call(id), clock) { failures.append($0) }
      let failure = UpstreamFailure.transport(.connect, from: .cognitoIdentity)
      queue.handle(.ended(id, failure), clock)
    }
    expect(failures.count, equals: 6)
    expect(failures.prefix(5).allSatisfy { $0 == nil })
    expect(failures.last??.message.hasPrefix("offline since ") == true)
  }

  @Test mutating func `a call waits for the rate, and the queue says until when`() {
    let queue = CallQueue(.backend("corp"), .init(rate: .perSecond(1), width: 8))
    var made = 0
    while queue.nextWake == .distantFuture, made < 100 {
      queue.enter(call(ids.next()), clock) { _ in made += 1 }
    }
    let before = made
    let due = queue.nextWake
    expect(clock.now < due && due <= clock.now + .seconds(1))
    clock.advance(to: due)
    queue.handle(.timePassed, clock)
    expect(made, equals: before + 1)
  }

  @Test func `a call that is cancelled while its file is read is not sent`() throws {
    let fixture = try ServiceFixture(Configured.usual(backend: "bearer_token_file = /token"))
    fixture.host.queries.files["/token"] = "secret"
    fixture.host.background.time[.files] = .seconds(1)
    let client = fixture.connect()
    client.send("{}")
    fixture.advance(by: .milliseconds(500))
    _ = try fixture.ask(#"{"op":"clear","what":"credentials"}"#)
    fixture.advance(by: .milliseconds(700))
    // The call in its place waits for the same reading.
    expect(fixture.host.upstreams.calls("token"), equals: 1)
    expect(!client.isWaiting)
    fixture.advance(by: .seconds(1))
    expect(fixture.host.upstreams.calls("token"), equals: 1)
    expect(fixture.upstream.callCount, equals: 0)
  }
}
