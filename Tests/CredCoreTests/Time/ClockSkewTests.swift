import Testing

@testable import CredCore

/// A wrong local clock is a person's business (field-notes 20).
@Suite struct ClockSkewTests {
  private let noon = WallTime(milliseconds: 1_700_000_000_000)

  @Test(arguments: [0, 1, -1, 60, -60])
  func whatIsWithinAMinuteIsNoNews(_ seconds: Int) {
    var clock = ClockSkew()
    #expect(clock.noted(server: noon + .seconds(seconds), local: noon) == nil)
    #expect(!clock.isOff)
  }

  @Test(arguments: [61, -61, 86_400, -86_400])
  func moreIsSaidOnce(_ seconds: Int) {
    var clock = ClockSkew()
    #expect(clock.noted(server: noon + .seconds(seconds), local: noon) == .off(.seconds(seconds)))
    #expect(clock.noted(server: noon + .seconds(seconds), local: noon) == nil)
    #expect(clock.isOff)
    // Still off, and about as much.
    let more = seconds + 60 * seconds.signum()
    #expect(clock.noted(server: noon + .seconds(more), local: noon) == nil)
  }

  @Test func whenItIsRightAgainThatIsSaidToo() {
    var clock = ClockSkew()
    #expect(clock.noted(server: noon + .seconds(300), local: noon) == .off(.seconds(300)))
    #expect(clock.noted(server: noon, local: noon) == .right)
    #expect(clock.noted(server: noon, local: noon) == nil)
  }

  @Test func whoSetsTheClockMendsItAtOnce() {
    var clock = ClockSkew()
    #expect(clock.noted(server: noon + .seconds(300), local: noon) == .off(.seconds(300)))
    #expect(clock.clockSet(by: .seconds(299)) == .right)
    #expect(!clock.isOff)
  }

  @Test func orPutsItOff() {
    var clock = ClockSkew()
    #expect(clock.noted(server: noon + .seconds(1), local: noon) == nil)
    #expect(clock.clockSet(by: .seconds(3600)) == .off(.seconds(-3599)))
  }

  @Test func beforeAnyServerSpokeNobodyKnows() {
    var clock = ClockSkew()
    #expect(clock.clockSet(by: .seconds(3600)) == nil)
    #expect(!clock.isOff)
  }
}
