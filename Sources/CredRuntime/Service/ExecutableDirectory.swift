internal import CLinux
internal import CredCore

/// The programs that connected processes run. Files may be large and on slow disks: they are looked
/// at on threads, never on the loop, and digests are kept as long as the file is the same.
final class ExecutableDirectory {
  enum Answer: Sendable, Equatable {
    case executable(Caller.Executable)
    /// And why, for the operator.
    case unknown(String)
  }

  /// Threads at once, those that hang included; further questions wait their turn.
  static let threads = 4
  /// From the question on, the wait for a thread included.
  static let timeout: Duration = .seconds(5)
  /// How long an answer counts for a connection: its process may run another program by then.
  static let keptFor: Duration = .seconds(60)

  private struct Inspection {
    let pid: Int32
    let withDigest: Bool
    let deadline: Instant
    let then: (Answer) -> Void
  }

  private let loop: EventLoop
  private let results: ExecutableResults
  private var wakeSource: EventSource?
  private var timer: EventSource?
  private var inspections: [UInt64: Inspection] = [:]
  private var waiting: [UInt64] = []
  private var running = 0
  private var last: UInt64 = 0

  init(loop: EventLoop) throws(SystemError) {
    self.loop = loop
    results = try ExecutableResults()
    wakeSource = try loop.watch(results.wake, for: CREDD_EPOLL_IN) { [unowned self] _ in
      self.collect()
    }
    timer = try loop.timer { [unowned self] _ in self.collect() }
  }

  /// Finds out what a process runs; `then` is called later. Whether it was that process all the
  /// while is the caller's to check.
  func inspect(pid: Int32, withDigest: Bool, now: Instant, then: @escaping (Answer) -> Void) {
    last += 1
    inspections[last] = Inspection(
      pid: pid, withDigest: withDigest, deadline: now + Self.timeout, then: then)
    waiting.append(last)
    startMore()
    armTimer()
  }

  private func startMore() {
    while running < Self.threads, let number = waiting.first {
      waiting.removeFirst()
      // It may have waited for too long.
      guard let inspection = inspections[number] else { continue }
      let (pid, withDigest, results) = (inspection.pid, inspection.withDigest, results)
      do throws(SystemError) {
        try SideThread.run {
          results.put(results.executable(of: pid, withDigest: withDigest), number)
        }
        running += 1
      } catch {
        // As an answer like any other: nobody is called back while they still ask.
        running += 1
        results.put(.unknown("\(error)"), number)
      }
    }
  }

  private func collect() {
    var finished: [(Inspection, Answer)] = []
    for (number, answer) in results.takeAll() {
      running -= 1
      if let inspection = inspections.removeValue(forKey: number) {
        finished.append((inspection, answer))
      }
    }
    let now = loop.now
    for (number, inspection) in inspections where inspection.deadline <= now {
      inspections[number] = nil
      finished.append((inspection, .unknown("its file did not answer in time")))
    }
    startMore()
    armTimer()
    for (inspection, answer) in finished { inspection.then(answer) }
  }

  private func armTimer() {
    timer?.arm(at: inspections.values.map(\.deadline).min())
  }
}
