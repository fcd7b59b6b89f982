import TestSupport
import Testing

@testable import CredCore

/// The daemon reports a wrong local clock once, and its correction.
struct ClockSkewTests {
  private let noon = WallTime(milliseconds: 1_700_000_000_000)

  @Test(arguments: [0, 1, -1, 60, -60])
  func aDifferenceOfAMinuteIsIgnored(_ seconds: Int) {
    var clock = ClockSkew()
    expect(clock.compare(server: noon + .seconds(seconds), local: noon) == nil)
    expect(!clock.isOff)
  }

  @Test(arguments: [61, -61, 86_400, -86_400])
  func aLargerDifferenceIsReportedOnce(_ seconds: Int) {
    var clock = ClockSkew()
    expect(
      clock.compare(server: noon + .seconds(seconds), local: noon), equals: .off(.seconds(seconds)))
    expect(clock.compare(server: noon + .seconds(seconds), local: noon) == nil)
    expect(clock.isOff)
    // A difference that changes by a minute is not reported again.
    let more = seconds + 60 * seconds.signum()
    expect(clock.compare(server: noon + .seconds(more), local: noon) == nil)
  }

  @Test func aCorrectedClockIsReported() {
    var clock = ClockSkew()
    expect(clock.compare(server: noon + .seconds(300), local: noon), equals: .off(.seconds(300)))
    expect(clock.compare(server: noon, local: noon), equals: .right)
    expect(clock.compare(server: noon, local: noon) == nil)
  }

  @Test func settingTheClockCorrectsTheDifference() {
    var clock = ClockSkew()
    expect(clock.compare(server: noon + .seconds(300), local: noon), equals: .off(.seconds(300)))
    expect(clock.clockSet(by: .seconds(299)), equals: .right)
    expect(!clock.isOff)
  }

  @Test func settingTheClockWronglyIsReported() {
    var clock = ClockSkew()
    expect(clock.compare(server: noon + .seconds(1), local: noon) == nil)
    expect(clock.clockSet(by: .seconds(3600)), equals: .off(.seconds(-3599)))
  }

  @Test func aChangeBeforeTheFirstReplyIsIgnored() {
    var clock = ClockSkew()
    expect(clock.clockSet(by: .seconds(3600)) == nil)
    expect(!clock.isOff)
  }
}
