import Foundation

/// How thorough the long suites are. `CREDD_TEST_ROUNDS=short` makes them quick, for the inner loop
/// of a developer. `CREDD_TEST_ROUNDS=deep` also runs the tests that `make test-all` runs only with
/// the release programs; mutations need them.
package enum TestRounds {
  package static let isShort = ProcessInfo.processInfo.environment["CREDD_TEST_ROUNDS"] == "short"
  package static let isDeep = ProcessInfo.processInfo.environment["CREDD_TEST_ROUNDS"] == "deep"

  /// The number of rounds for a test with `whole` rounds.
  package static func of(_ whole: Int) -> Int { isShort ? max(1, whole / 10) : whole }
}
