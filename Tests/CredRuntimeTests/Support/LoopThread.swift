import CLinux
import CredCore
import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import CredRuntime

/// An event loop on a thread of its own. The test's thread plays the world outside: it may block,
/// and each of its waits has an end.
final class LoopThread: Sendable {
  private struct Parts {
    let loop: EventLoop
    let source: EventSource
  }

  private let inbox: Inbox
  private let parts: OnLoop<Parts>
  private let ended = DispatchSemaphore(value: 0)

  init() throws {
    let inbox = try Inbox()
    let created = DispatchSemaphore(value: 0)
    let box = Box<Result<OnLoop<Parts>, any Error>>()
    let ended = ended
    Thread.detachNewThread {
      let result = Result {
        let loop = try EventLoop()
        let source = try loop.watch(inbox.descriptor, for: 1) { [unowned loop] _ in
          inbox.deliver(to: loop)
        }
        return OnLoop(value: Parts(loop: loop, source: source))
      }
      box.set(result)
      created.signal()
      if case .success(let parts) = result { _ = try? parts.value.loop.run() }
      ended.signal()
    }
    created.wait()
    guard let result = box.take() else { throw Late() }
    self.inbox = inbox
    parts = try result.get()
  }

  deinit {
    stop()
  }

  /// Ends the loop; afterwards what lived on it may be dropped anywhere.
  func stop() {
    inbox.post { $0.exit() }
    guard ended.waitWithLimit() else {
      Issue.record("the loop does not end")
      return
    }
    ended.signal()
  }

  /// Runs `body` on the loop and waits for its answer.
  func run<R: Sendable>(_ body: @escaping @Sendable (EventLoop) throws -> R) throws -> R {
    try wait { loop, done in
      done(try body(loop))
      return nil
    }
  }

  /// Begins something on the loop and waits until it calls its completion. What `body` answers, such
  /// as a timer, is kept as long as this thread.
  func wait<R: Sendable>(
    _ body: @escaping @Sendable (EventLoop, @escaping (R) -> Void) throws -> Any?
  ) throws -> R {
    let box = Box<Result<R, any Error>>()
    let done = DispatchSemaphore(value: 0)
    inbox.post { [inbox] loop in
      do {
        let kept = try body(loop) { value in
          box.set(.success(value))
          done.signal()
        }
        inbox.keep(kept)
      } catch {
        box.set(.failure(error))
        done.signal()
      }
    }
    guard done.waitWithLimit(), let result = box.take() else { throw Late() }
    return try result.get()
  }

  /// Asks the loop again and again until `condition` holds. False if it never does.
  func reaches(_ condition: @escaping @Sendable (EventLoop) -> Bool) throws -> Bool {
    try eventually { try run { condition($0) } }
  }

  /// Whether the loop spins: turns although no event has come. Meanwhile no other thread may use it.
  ///
  /// Some timers fire one after the other. Each costs a turn or two, however late it is: a busy machine
  /// adds none. A loop that spins turns thousands of times until the next one.
  func spins() throws -> Bool {
    let turnsPerTimer = 3
    let timers = 20
    let turns: Int = try wait { loop, done in
      let counter = TurnCounter()
      loop.setEndpoint(counter)
      var (timer, fired): (EventSource?, Int) = (nil, 0)
      timer = try loop.timer { [unowned loop] _ in
        fired += 1
        guard fired == timers else {
          timer?.arm(at: loop.now + .milliseconds(10))
          return
        }
        loop.setEndpoint(nil)
        timer = nil
        done(counter.turns)
      }
      timer?.arm(at: loop.now + .milliseconds(10))
      return counter
    }
    return turns > timers * turnsPerTimer
  }

  /// The loop calls it in each of its turns.
  private final class TurnCounter: ReadinessReceiver {
    private(set) var turns = 0
    let isBusy = false

    func serve(_ ready: borrowing Span<credd_ready>) { turns += 1 }
  }

  /// What was waited for did not come.
  struct Late: Error {}
}

/// Closures on their way to a loop, and a pipe that tells it of them.
private final class Inbox: Sendable {
  typealias Work = @Sendable (EventLoop) -> Void

  /// Touched on the loop alone.
  private final class Kept {
    var all: [Any] = []
  }

  let descriptor: Int32
  private let sender: Int32
  private let works = Mutex<[Work]>([])
  private let kept = OnLoop(value: Kept())

  init() throws {
    var pair: [Int32] = [-1, -1]
    guard unsafe pipe(&pair) == 0 else { throw POSIXError(.EMFILE) }
    (descriptor, sender) = (pair[0], pair[1])
    for end in pair {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
  }

  deinit {
    close(descriptor)
    close(sender)
  }

  func post(_ work: @escaping Work) {
    works.withLock { $0.append(work) }
    _ = unsafe write(sender, "x", 1)
  }

  func deliver(to loop: EventLoop) {
    var bytes = [UInt8](repeating: 0, count: 256)
    while unsafe read(descriptor, &bytes, bytes.count) > 0 {}
    let due = works.withLock { works in
      defer { works = [] }
      return works
    }
    for work in due { work(loop) }
  }

  func keep(_ value: Any?) {
    if let value { kept.value.all.append(value) }
  }
}

extension DispatchSemaphore {
  /// False if it is never signalled.
  func waitWithLimit() -> Bool { wait(timeout: .now() + .seconds(HangLimit.seconds)) == .success }
}

/// A value that one thread puts and another takes.
final class Box<Value: Sendable>: Sendable {
  private let value = Mutex<Value?>(nil)

  func set(_ new: Value) {
    value.withLock { $0 = new }
  }

  func take() -> Value? {
    value.withLock { $0.take() }
  }
}

/// What lives on the loop, passed through the test's thread without being touched there.
struct OnLoop<Value>: @unchecked Sendable {
  let value: Value
}
