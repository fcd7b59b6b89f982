import CredCore

/// The programs of connected processes. Their files may be large and on slow disks, so they are
/// read in the background.
final class ExecutableDirectory {
  /// The time for an answer, including the wait for a thread.
  static let timeout: Duration = .seconds(5)
  /// How long an answer is valid: later the process may run another program.
  static let keptFor: Duration = .seconds(60)

  private let background: any Background
  private let queries: any HostQueries

  init(background: any Background, queries: any HostQueries) {
    self.background = background
    self.queries = queries
  }

  /// Finds the program of a process; `then` is called later. The caller must check that the process
  /// has not ended meanwhile.
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
