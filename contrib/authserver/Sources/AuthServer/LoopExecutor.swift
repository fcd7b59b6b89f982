import NIOCore
import NIOPosix

/// Runs tasks on an event loop: a request goes from its connection to the services and back, and wakes no
/// other thread for that. What blocks has threads of its own: the databases and the hashes.
final class LoopExecutor: TaskExecutor {
  private let loop: any EventLoop

  init(_ loop: any EventLoop) { self.loop = loop }

  /// On the loop that runs this, or on any.
  static var current: LoopExecutor { LoopExecutor(MultiThreadedEventLoopGroup.singleton.any()) }

  /// At once where this is the loop's thread.
  func run(_ body: @escaping @Sendable () -> Void) {
    if loop.inEventLoop { body() } else { loop.execute(body) }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop.execute { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
