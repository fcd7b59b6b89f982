import Foundation

/// The end of waits for what has to come.
package enum HangLimit {
  /// Longer than anything takes on a busy machine. It only ends a hang: no test may fail because
  /// something took long, so products under test get it as a time-out too.
  package static let duration: Duration = .seconds(90)

  /// The same in seconds.
  package static let seconds = 90

  /// For poll(2) and its like.
  package static let milliseconds: Int32 = 90_000
}

/// Waits for a condition.
///
/// - Returns: false if it never holds.
package func eventually(_ condition: () throws -> Bool) rethrows -> Bool {
  let end = ContinuousClock.now + HangLimit.duration
  while ContinuousClock.now < end {
    if try condition() { return true }
    // The rest of the machine may need the processor for it.
    usleep(500)
  }
  return false
}
