import Foundation

/// The limit of waits for something that must come.
package enum HangLimit {
  /// Longer than anything takes on a busy machine. It only ends a hang, because no test may fail
  /// because something took long. So programs under test get it as a time-out too.
  package static let duration: Duration = .seconds(90)

  /// The limit in seconds.
  package static let seconds = 90

  /// The limit for poll(2) and similar calls.
  package static let milliseconds: Int32 = 90_000
}

/// Waits for a condition.
///
/// - Returns: false if it never holds.
package func eventually(_ condition: () throws -> Bool) rethrows -> Bool {
  let end = ContinuousClock.now + HangLimit.duration
  while ContinuousClock.now < end {
    if try condition() { return true }
    // Other processes may need the processor to make the condition true.
    usleep(500)
  }
  return false
}
