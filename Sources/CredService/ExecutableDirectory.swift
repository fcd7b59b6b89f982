import CredCore

/// The programs that connected processes run. Files may be large and on slow disks: they are looked
/// at in the background.
final class ExecutableDirectory {
  /// From the question on, the wait for a thread included.
  static let timeout: Duration = .seconds(5)
  /// How long an answer counts for a client: its process may run another program by then.
  static let keptFor: Duration = .seconds(60)

  private let background: any Background
  private let queries: any HostQueries

  init(background: any Background, queries: any HostQueries) {
    self.background = background
    self.queries = queries
  }

  /// Finds out what a process runs; `then` is called later. The caller must check that it was the
  /// same process all the while.
  func inspect(
    pid: Int32, withDigest: Bool, now: Instant, then: @escaping (ExecutableAnswer) -> Void
  ) {
    background.runOnce(.programs, deadline: now + Self.timeout) { [queries] in
      queries.executable(of: pid, withDigest: withDigest)
    } completion: { answer in
      then(answer ?? .unknown("its file did not answer in time"))
    }
  }
}
