import CredCore
import Foundation
import TestSupport
import Testing

@testable import CredRuntime
@testable import CredService

/// libcurl is called again and again while a transfer connects. That this passes a dead address over
/// is in `LinkTests`: a name with two addresses takes a network of its own.
struct ConnectTickTests {
  @Test func `it goes on while a transfer connects, and not longer`() {
    let clock = ManualClock()
    var calls = 0
    let tick = ConnectTick(clock) { calls += 1 }
    let (one, other) = (NSObject(), NSObject())
    expect(clock.deadline == nil)
    tick.note(one, isConnecting: true)
    let first = clock.now + ConnectTick.interval
    expect(clock.deadline, equals: first)
    clock.pass(.milliseconds(100))
    // The second transfer does not put the call off, nor does another address of the first.
    tick.note(other, isConnecting: true)
    tick.note(one, isConnecting: true)
    expect(clock.deadline, equals: first)
    clock.fire()
    expect(calls, equals: 1)
    expect(clock.deadline, equals: first + ConnectTick.interval)
    tick.note(one, isConnecting: false)
    clock.fire()
    expect(calls, equals: 2)
    tick.note(other, isConnecting: false)
    expect(clock.deadline == nil)
    // A transfer that ends had a connection before.
    tick.note(other, isConnecting: false)
    expect(clock.deadline == nil)
  }

  @Test func `a call that ends the last transfer is the last call`() {
    let clock = ManualClock()
    let transfer = NSObject()
    var end: () -> Void = {}
    let tick = ConnectTick(clock) { end() }
    end = { tick.note(transfer, isConnecting: false) }
    tick.note(transfer, isConnecting: true)
    clock.fire()
    expect(clock.deadline == nil)
  }

  @Test func `it is at least each second`() {
    expect(ConnectTick.interval <= .seconds(1))
  }

  @Test func `a transfer is called while it connects, and not while it waits for a reply`() throws {
    let counting = CountingClock()
    let client = try ClientFixture { _, parts in
      counting.real = parts.clock
      return (counting, parts.background)
    }
    let deaf = try DeafListener()
    expect(
      try client.send(
        HTTPRequest(method: .get, url: "http://127.0.0.1:\(deaf.port)/"),
        timeout: ConnectTick.interval * 4
      ).failure, equals: .timeout)
    expect(try client.thread.run { _ in counting.fired } > 0)
    expect(try client.thread.run { _ in counting.isArmed } == false)
    let silent = try HTTPFake { _ in .silence }
    try client.begin(HTTPRequest(method: .get, url: silent.url), timeout: .seconds(86_400))
    expect(eventually { silent.requests.count == 1 })
    expect(try client.thread.run { _ in counting.isArmed } == false)
  }
}

/// One timer, in virtual time.
private final class ManualClock: CredService.Clock {
  private(set) var now = Instant(nanoseconds: 1)
  let wallTime = WallTime(milliseconds: 0)
  let skew: Duration? = nil
  let awsTime: WallTime? = nil
  private(set) var deadline: Instant?
  private var fired: () -> Void = {}

  func makeTimer(_ fire: @escaping () -> Void) -> any CredService.Timer {
    fired = fire
    return ArmedTimer { [unowned self] in deadline = $0 }
  }

  func recordServerTime(_ time: WallTime) {}

  func pass(_ time: Duration) { now = now + time }

  /// Time passes until the timer is due.
  func fire() {
    guard let due = deadline else { return }
    (now, deadline) = (due, nil)
    fired()
  }
}

/// The host's clock, whose timers are watched. Used on the loop alone.
private final class CountingClock: CredService.Clock, @unchecked Sendable {
  var real: (any CredService.Clock)?
  private(set) var fired = 0
  private var armed: Set<Int> = []
  private var made = 0

  var isArmed: Bool { !armed.isEmpty }
  var now: Instant { real?.now ?? Instant(nanoseconds: 0) }
  var wallTime: WallTime { real?.wallTime ?? WallTime(milliseconds: 0) }
  var skew: Duration? { nil }
  var awsTime: WallTime? { nil }

  func makeTimer(_ fire: @escaping () -> Void) -> any CredService.Timer {
    made += 1
    let number = made
    let timer = real?.makeTimer { [unowned self] in
      fired += 1
      armed.remove(number)
      fire()
    }
    return ArmedTimer { [unowned self] deadline in
      if deadline == nil { armed.remove(number) } else { armed.insert(number) }
      timer?.arm(at: deadline)
    }
  }

  func recordServerTime(_ time: WallTime) {}
}

private final class ArmedTimer: CredService.Timer {
  private let armed: (Instant?) -> Void

  init(_ armed: @escaping (Instant?) -> Void) { self.armed = armed }

  func arm(at deadline: Instant?) { armed(deadline) }
}

/// A port of which the kernel drops each SYN: the queue of connections that wait to be accepted is
/// full.
private final class DeafListener {
  private let listener: Socket
  private let waiting: Socket
  let port: Int

  init() throws {
    (listener, port) = try Socket.boundOnLoopback()
    guard listen(listener.descriptor, 0) == 0 else { throw POSIXError(.EADDRINUSE) }
    waiting = try Socket(port: port)
  }
}
