import Foundation
import Glibc
import SeededRandom
import TestSupport
import Testing

@testable import DaemonHarness

/// Every row of the covering array, with the real daemon and new names each time.
///
/// `CREDD_ARRAY_SEED=N` repeats a run, `CREDD_ARRAY_ROW=N` runs one row alone.
@Suite(
  .onStage,
  .enabled(
    if: OtherUser.canBe && Programs.installed("unshare") != nil, "takes root and unshare(1)"))
struct ArrayTests {
  private static let environment = ProcessInfo.processInfo.environment
  static let seed =
    environment["CREDD_ARRAY_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0..<1_000_000)

  /// The rows whose callers are in a unit, or those whose callers are not.
  private static func rows(inUnits: Bool) -> [ArrayRow] {
    let only = environment["CREDD_ARRAY_ROW"].flatMap { Int($0) }
    let rows = (try? ArrayRow.all()) ?? []
    return rows.filter { (only ?? $0.number) == $0.number && ($0.access == .units) == inUnits }
  }

  @Test(arguments: rows(inUnits: false))
  func everyoneGetsTheirOwn(_ row: ArrayRow) throws {
    try live(row)
  }

  @Test(
    .enabled(if: ControlGroup.canBeMade, "takes control groups that can be written"),
    arguments: rows(inUnits: true))
  func everyoneGetsTheirOwnInAUnit(_ row: ArrayRow) throws {
    try live(row)
  }

  /// A table that cannot be read would give the tests above no row, and nothing to fail.
  @Test func everyRowIsLived() throws {
    let lived = (Self.rows(inUnits: false) + Self.rows(inUnits: true)).map(\.number).sorted()
    let chosen = Self.environment["CREDD_ARRAY_ROW"].flatMap { Int($0) }
    expect(lived, equals: try chosen.map { [$0] } ?? ArrayRow.all().map(\.number))
  }

  private func live(_ row: ArrayRow) throws {
    var random = SeededGenerator(seed: Self.seed &* 1_000_003 &+ UInt64(row.number))
    try RowStory(row, &random).run()
  }
}
