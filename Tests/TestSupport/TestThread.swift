import Dispatch

/// A thread for one test: tests that wait for processes and sockets must not occupy the threads that
/// all tests share.
package final class TestThread: TaskExecutor {
  private let queue = DispatchQueue(label: "test")

  package init() {}

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
