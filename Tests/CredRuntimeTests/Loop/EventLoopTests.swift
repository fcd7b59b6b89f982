import CredCore
import Foundation
import Glibc
import TestSupport
import Testing

@testable import CredRuntime

struct EventLoopTests {
  @Test func `a timer fires once, not before its time`() throws {
    let thread = try LoopThread()
    let (late, count): (Duration, Int) = try thread.wait { loop, done in
      let deadline = loop.now + .milliseconds(20)
      var fired: [Instant] = []
      let timer = try loop.timer { _ in fired.append(loop.now) }
      let end = try loop.timer { _ in done(((fired.first ?? deadline) - deadline, fired.count)) }
      timer.arm(at: deadline)
      // However late the loop is, what is due first fires first.
      end.arm(at: deadline + .milliseconds(20))
      return [timer, end]
    }
    expect(late > .zero)
    expect(count, equals: 1)
  }

  @Test func `a timer in the past fires at once, a disarmed one never`() throws {
    let thread = try LoopThread()
    let names: [String] = try thread.wait { loop, done in
      var names: [String] = []
      let never = try loop.timer { _ in names.append("never") }
      let past = try loop.timer { _ in names.append("past") }
      let last = try loop.timer { _ in done(names) }
      never.arm(at: loop.now + .milliseconds(1))
      never.arm(at: nil)
      past.arm(at: Instant(nanoseconds: -5))
      last.arm(at: loop.now + .milliseconds(10))
      return [never, past, last]
    }
    expect(names, equals: ["past"])
  }

  @Test func `a source may drop itself in its handler`() throws {
    let thread = try LoopThread()
    let fired: Int = try thread.wait { loop, done in
      var fired = 0
      var timer: EventSource?
      timer = try loop.timer { _ in
        timer = nil
        fired += 1
        done(fired)
      }
      timer?.arm(at: loop.now)
      return nil
    }
    expect(fired, equals: 1)
  }

  @Test func `a descriptor of the same number may be watched in the handler that closed it`() throws
  {
    let thread = try LoopThread()
    let descriptors: [Int32] = try thread.wait { loop, done in
      let (descriptor, next) = (Self.readable(), Self.readable())
      var sources: [EventSource?] = [nil, nil]
      sources[0] = try loop.watch(descriptor, for: Self.readiness) { _ in
        sources[0]?.remove()
        sources[0] = nil
        // Closes the first file and gives its number to the second one.
        dup2(next, descriptor)
        sources[1] = try? loop.watch(descriptor, for: Self.readiness) { _ in
          sources[1] = nil
          done([descriptor, next])
        }
      }
      return nil
    }
    expect(descriptors.map { close($0) }, equals: [0, 0])
  }

  private static let readiness: UInt32 = 1

  /// The reading end of a pipe with a byte in it.
  private static func readable() -> Int32 {
    var pair: [Int32] = [-1, -1]
    unsafe pipe(&pair)
    unsafe write(pair[1], "x", 1)
    close(pair[1])
    return pair[0]
  }

  /// What other tests see by it is told from nothing at all.
  @Test func `a loop that spins is told from one that waits`() throws {
    let thread = try LoopThread()
    expect(try !thread.spins())
    let descriptor = Self.readable()
    defer { close(descriptor) }
    let source = try thread.run { loop in
      // It does not read.
      OnLoop(value: try loop.watch(descriptor, for: Self.readiness) { _ in })
    }
    expect(try thread.spins())
    try thread.run { _ in source.value.remove() }
    expect(try !thread.spins())
  }

  @Test func `a signal is delivered as an event`() throws {
    let thread = try LoopThread()
    let count: Int = try thread.wait { loop, done in
      var count = 0
      let source = try loop.signal(SIGUSR2) { _ in
        count += 1
        done(count)
      }
      pthread_kill(pthread_self(), SIGUSR2)
      return source
    }
    expect(count, equals: 1)
  }

  @Test func `after exit nothing is dispatched any more`() throws {
    let loop = try EventLoop()
    var fired = 0
    let timers = try (0..<3).map { _ in
      try loop.timer { _ in
        fired += 1
        loop.exit(code: 7)
      }
    }
    timers.forEach { $0.arm(at: loop.now) }
    expect(try loop.run(), equals: 7)
    expect(fired, equals: 1)
  }

  @Test func `exit ends the loop with its code`() throws {
    let loop = try EventLoop()
    let timer = try loop.timer { _ in loop.exit(code: 7) }
    timer.arm(at: loop.now)
    expect(try loop.run(), equals: 7)
  }
}
