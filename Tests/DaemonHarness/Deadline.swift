import Glibc

/// A point in time by which something must have happened.
struct Deadline {
  /// Ends a hang. What is waited for takes milliseconds on a quiet machine; a busy one has it late.
  static var usual: Deadline { .in(.seconds(120)) }

  private let end: ContinuousClock.Instant

  static func `in`(_ duration: Duration) -> Deadline { Deadline(end: .now + duration) }

  var hasPassed: Bool { ContinuousClock.now >= end }

  /// What is left, for poll(2).
  var milliseconds: Int32 {
    let left = ContinuousClock.now.duration(to: end) / .milliseconds(1)
    return Int32(min(max(left.rounded(.up), 0), 600_000))
  }

  /// Looks again and again until `condition` holds.
  func wait(for what: String, until condition: () throws -> Bool) throws {
    while try !condition() {
      guard !hasPassed else { throw Overdue(what) }
      usleep(2000)
    }
  }
}

/// What was waited for in vain.
struct Overdue: Error, CustomStringConvertible {
  let description: String

  init(_ what: String) { description = "waited in vain for \(what)" }
}
