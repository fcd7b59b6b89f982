import Glibc

/// SIGTERM and SIGINT, awaited instead of handled.
struct StopSignals {
  private var set = sigset_t()

  /// Blocks them. Threads that start later inherit that, so this comes before any.
  init() {
    unsafe sigemptyset(&set)
    unsafe sigaddset(&set, SIGTERM)
    unsafe sigaddset(&set, SIGINT)
    unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// Returns when one of them comes.
  mutating func wait() {
    var signal: Int32 = 0
    unsafe sigwait(&set, &signal)
  }
}
