import CredCore
import Foundation
import Synchronization

@testable import CredRuntime

/// An event loop on a thread of its own. The test's thread plays the world outside: it may block,
/// and every wait of it has an end.
final class LoopThread: Sendable {
  let loop: EventLoop
  let stage: Stage
  private let ended = DispatchSemaphore(value: 0)

  /// Longer than anything here takes on a busy machine.
  static let patience: TimeInterval = 20

  init() throws {
    let created = DispatchSemaphore(value: 0)
    let box = Box<Result<EventLoop, SystemError>>()
    let ended = ended
    Thread.detachNewThread {
      let result = Result { () throws(SystemError) in try EventLoop() }
      box.set(result)
      created.signal()
      if case .success(let loop) = result { _ = try? loop.run() }
      ended.signal()
    }
    created.wait()
    guard let result = box.take() else { throw Late() }
    loop = try result.get()
    stage = Stage(loop: loop)
  }

  deinit {
    stop()
  }

  /// Ends the loop; afterwards what lived on it may be dropped anywhere.
  func stop() {
    let loop = loop
    Task(executorPreference: loop) { loop.exit() }
    if ended.wait(timeout: .now() + Self.patience) == .success { ended.signal() }
  }

  /// Runs `body` on the loop and waits for what it answers.
  func run<R: Sendable>(
    _ body: @escaping @Sendable (isolated Stage) async throws -> R
  ) throws -> R {
    let box = Box<Result<R, any Error>>()
    let done = DispatchSemaphore(value: 0)
    let stage = stage
    Task(executorPreference: loop) {
      do {
        box.set(.success(try await stage.perform(body)))
      } catch {
        box.set(.failure(error))
      }
      done.signal()
    }
    guard done.wait(timeout: .now() + Self.patience) == .success, let result = box.take() else {
      throw Late()
    }
    return try result.get()
  }

  /// Asks the loop again and again until `condition` holds. False if it never does.
  func reaches(_ condition: @escaping @Sendable (isolated Stage) -> Bool) throws -> Bool {
    let end = Date(timeIntervalSinceNow: Self.patience)
    while Date() < end {
      if try run({ condition($0) }) { return true }
    }
    return false
  }

  /// What was waited for did not come.
  struct Late: Error {}
}

/// Everything that happens on the loop.
actor Stage {
  nonisolated let loop: EventLoop

  init(loop: EventLoop) {
    self.loop = loop
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe loop.asUnownedSerialExecutor()
  }

  func perform<R: Sendable>(
    _ body: @Sendable (isolated Stage) async throws -> R
  ) async rethrows -> R {
    try await body(self)
  }
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
