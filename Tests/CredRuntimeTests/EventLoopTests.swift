import CredCore
import Foundation
import Glibc
import Synchronization
import Testing

@testable import CredRuntime

struct EventLoopTests {
  @Test func `a timer fires once, not before its time`() throws {
    let thread = try LoopThread()
    let (late, count) = try thread.run { stage in
      let loop = stage.loop
      let deadline = loop.now + .milliseconds(20)
      var fired: [Instant] = []
      var timer: EventSource?
      var end: EventSource?
      await withCheckedContinuation { continuation in
        timer = try? loop.timer { _ in fired.append(loop.now) }
        end = try? loop.timer { _ in continuation.resume() }
        timer?.arm(at: deadline)
        end?.arm(at: deadline + .milliseconds(20))
      }
      _ = (timer, end)
      return ((fired.first ?? deadline) - deadline, fired.count)
    }
    #expect(late > .zero)
    #expect(count == 1)
  }

  @Test func `a timer in the past fires at once, a disarmed one never`() throws {
    let thread = try LoopThread()
    let names = try thread.run { stage in
      let loop = stage.loop
      var names: [String] = []
      var timers: [EventSource?] = []
      await withCheckedContinuation { continuation in
        let never = try? loop.timer { _ in names.append("never") }
        let past = try? loop.timer { _ in names.append("past") }
        let last = try? loop.timer { _ in continuation.resume() }
        timers = [never, past, last]
        never?.arm(at: loop.now + .milliseconds(1))
        never?.arm(at: nil)
        past?.arm(at: Instant(nanoseconds: -5))
        last?.arm(at: loop.now + .milliseconds(10))
      }
      timers.removeAll()
      return names
    }
    #expect(names == ["past"])
  }

  @Test func `a source may drop itself in its handler`() throws {
    let thread = try LoopThread()
    let fired = try thread.run { stage in
      var fired = 0
      var timer: EventSource?
      await withCheckedContinuation { continuation in
        timer = try? stage.loop.timer { _ in
          timer = nil
          fired += 1
          continuation.resume()
        }
        timer?.arm(at: stage.loop.now)
      }
      return fired
    }
    #expect(fired == 1)
  }

  @Test func `a descriptor of the same number may be watched in the handler that closed it`() throws
  {
    let thread = try LoopThread()
    let heard = try thread.run { stage in
      let loop = stage.loop
      let (descriptor, next) = (Self.readable(), Self.readable())
      var sources: [EventSource?] = [nil, nil]
      await withCheckedContinuation { continuation in
        sources[0] = try? loop.watch(descriptor, for: Self.readiness) { _ in
          sources[0]?.remove()
          sources[0] = nil
          // Closes the first file and gives its number to the second one.
          dup2(next, descriptor)
          sources[1] = try? loop.watch(descriptor, for: Self.readiness) { _ in
            sources[1] = nil
            continuation.resume()
          }
        }
      }
      return (close(descriptor), close(next))
    }
    #expect(heard == (0, 0))
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

  @Test func `jobs from many threads all run, on the loop's thread`() throws {
    let thread = try LoopThread()
    let loopThread = try thread.run { _ in pthread_self() }
    let counter = Counter()
    let done = DispatchSemaphore(value: 0)
    for _ in 0..<8 {
      Thread.detachNewThread {
        for _ in 0..<250 {
          Task(executorPreference: thread.loop) {
            counter.add(onLoop: pthread_equal(pthread_self(), loopThread) != 0)
            if counter.total == 2000 { done.signal() }
          }
        }
      }
    }
    #expect(done.wait(timeout: .now() + LoopThread.patience) == .success)
    #expect(counter.onLoop == 2000)
  }

  @Test func `tasks come back to the loop's thread after every suspension`() throws {
    let thread = try LoopThread()
    let stayed = try thread.run { stage in
      let own = pthread_self()
      var stayed = true
      for _ in 0..<50 {
        await Task.yield()
        stayed = stayed && pthread_equal(own, pthread_self()) != 0
        let child = Task { () -> Bool in
          _ = stage.loop
          return pthread_equal(own, pthread_self()) != 0
        }
        stayed = await child.value && stayed
      }
      return stayed
    }
    #expect(stayed)
  }

  @Test func `callbacks of the loop are isolated to its actors`() throws {
    let thread = try LoopThread()
    let entered = try thread.run { stage in
      var timer: EventSource?
      let entered = await withCheckedContinuation { continuation in
        timer = try? stage.loop.timer { _ in
          continuation.resume(
            returning: stage.assumeIsolated { $0.loop.isIsolatingCurrentContext() })
        }
        timer?.arm(at: stage.loop.now)
      }
      _ = timer
      return entered
    }
    #expect(entered == true)
    #expect(thread.loop.isIsolatingCurrentContext() == false)
  }

  @Test func `a signal is delivered as an event`() throws {
    let thread = try LoopThread()
    let count = try thread.run { stage in
      var count = 0
      var source: EventSource?
      await withCheckedContinuation { continuation in
        source = try? stage.loop.signal(SIGUSR2) { _ in
          count += 1
          continuation.resume()
        }
        pthread_kill(pthread_self(), SIGUSR2)
      }
      _ = source
      return count
    }
    #expect(count == 1)
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
    #expect(try loop.run() == 7)
    #expect(fired == 1)
  }

  @Test func `exit ends the loop with its code`() throws {
    let loop = try EventLoop()
    let timer = try loop.timer { _ in loop.exit(code: 7) }
    timer.arm(at: loop.now)
    #expect(try loop.run() == 7)
  }

  private final class Counter: Sendable {
    private let counts = Mutex((total: 0, onLoop: 0))

    func add(onLoop: Bool) {
      counts.withLock {
        $0.total += 1
        if onLoop { $0.onLoop += 1 }
      }
    }

    var total: Int { counts.withLock { $0.total } }
    var onLoop: Int { counts.withLock { $0.onLoop } }
  }
}
