import Dispatch

/// A thread for one test: tests here wait for processes and sockets, which must not occupy the
/// threads that all tests share.
final class TestThread: TaskExecutor {
  private let queue = DispatchQueue(label: "test")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}

/// Lets so many tests run at once and the others wait: each has a few processes of its own.
actor TestLimit {
  static let shared = TestLimit(width: 8)

  private var free: Int
  private var waiting: [CheckedContinuation<Void, Never>] = []

  private init(width: Int) {
    free = width
  }

  func enter() async {
    if free > 0 {
      free -= 1
    } else {
      await withCheckedContinuation { waiting.append($0) }
    }
  }

  func leave() {
    if waiting.isEmpty {
      free += 1
    } else {
      waiting.removeFirst().resume()
    }
  }
}
