import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Calls to one endpoint that wait for their turn.
struct CallQueueTests {
  private let clock = VirtualClock()
  private let turns: CallTurns
  private var ids = CallIDs()
  private let noted = Noted()

  init() {
    turns = CallTurns(clock, LogBook().logger, settings: DaemonSettings())
  }

  private final class Noted {
    var made: [CallID] = []
    var failures: [UpstreamFailure] = []
  }

  /// Notes its turns.
  private final class Caller: TurnTaking {
    private let id: CallID
    private let noted: Noted

    init(_ id: CallID, _ noted: Noted) {
      self.id = id
      self.noted = noted
    }

    func turnCame(_ refusal: UpstreamFailure?) {
      if let refusal { noted.failures.append(refusal) } else { noted.made.append(id) }
    }
  }

  private func queue(_ rate: Rate, width: Int) -> CallQueue {
    CallQueue(.backend("corp"), .init(rate: rate, width: width))
  }

  private func enter(_ id: CallID, _ queue: CallQueue) {
    let call = Admission.Call(id: id, profile: "work", isInPerson: false, isRetry: false)
    turns.enter(call, in: queue, Caller(id, noted))
    clock.settle()
  }

  /// The call sends its request, and gets a reply.
  private func end(_ id: CallID, _ failure: UpstreamFailure? = nil) {
    turns.noteSent(id)
    expect(turns.end(id, failure, of: nil))
    clock.settle()
  }

  @Test mutating func `one call at a time, and a withdrawn call is never made`() {
    let queue = queue(.perSecond(1000), width: 1)
    let (first, second, third) = (ids.next(), ids.next(), ids.next())
    for id in [first, second, third] { enter(id, queue) }
    expect(noted.made, equals: [first])
    expect(turns.withdraw(second))
    end(first)
    expect(noted.made, equals: [first, third])
    end(third)
    expect(noted.made, equals: [first, third])
    expect(turns.count, equals: 0)
  }

  @Test mutating func `a call that was sent cannot be withdrawn`() {
    let queue = queue(.perSecond(1000), width: 1)
    let (first, second) = (ids.next(), ids.next())
    for id in [first, second] { enter(id, queue) }
    turns.noteSent(first)
    expect(!turns.withdraw(first))
    expect(!turns.withdraw(ids.next()))
    expect(turns.end(first, nil, of: nil))
    clock.settle()
    // One that was withdrawn before it was sent gives its place to the next one.
    expect(turns.withdraw(second))
    expect(!turns.goesOn(second))
    let third = ids.next()
    enter(third, queue)
    expect(noted.made, equals: [first, second, third])
  }

  @Test mutating func `a call that waits for one more turn is withdrawn`() {
    let queue = queue(.perSecond(1), width: 1)
    let (first, second) = (ids.next(), ids.next())
    enter(first, queue)
    turns.noteSent(first)
    turns.enterAgain(first)
    enter(second, queue)
    turns.cancel(first)
    clock.advance(by: .seconds(1))
    turns.prioritise(second)
    clock.settle()
    expect(noted.made, equals: [first, second])
    expect(turns.count, equals: 1)
  }

  @Test mutating func `a call that a client waits for overtakes calls ahead of time`() {
    let queue = queue(.perSecond(1000), width: 1)
    let (first, early, late) = (ids.next(), ids.next(), ids.next())
    for id in [first, early, late] { enter(id, queue) }
    turns.prioritise(late)
    end(first)
    expect(noted.made, equals: [first, late])
  }

  @Test mutating func `an outage ends calls at once`() {
    let queue = queue(.perSecond(1000), width: 8)
    for _ in 1...5 {
      let id = ids.next()
      enter(id, queue)
      end(id, .transport(.connect, from: .backend("corp")))
    }
    expect(noted.made.count == 5 && noted.failures.isEmpty)
    enter(ids.next(), queue)
    expect(noted.made.count == 5 && noted.failures.count == 1)
    expect(noted.failures.last?.message.hasPrefix("offline since ") == true)
  }

  @Test mutating func `a call waits for the rate, and the queue says until when`() {
    let queue = queue(.perSecond(1), width: 8)
    var made = 0
    while queue.nextWake == .distantFuture, made < 100 {
      let call = Admission.Call(id: ids.next(), profile: "work", isInPerson: false, isRetry: false)
      made += queue.handle(.asked(call), clock).count
    }
    let due = queue.nextWake
    expect(clock.now < due && due <= clock.now + .seconds(1))
    clock.advance(to: due)
    expect(queue.handle(.timePassed, clock).count, equals: 1)
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
