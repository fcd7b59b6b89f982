import Foundation

/// How thorough the long suites are. `CREDD_TEST_ROUNDS=short` makes them quick, for the inner loop
/// of a developer; otherwise they run whole.
package enum TestRounds {
  package static let isShort = ProcessInfo.processInfo.environment["CREDD_TEST_ROUNDS"] == "short"

  /// The number of rounds of a test that has `whole` of them.
  package static func of(_ whole: Int) -> Int { isShort ? max(1, whole / 10) : whole }
}
