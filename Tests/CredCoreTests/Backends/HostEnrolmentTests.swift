import TestSupport
import Testing

@testable import CredCore

/// The end of this host's enrolment at a backend: a warning 30 days, 7 days and a day before.
struct HostEnrolmentTests {
  private let end = WallTime(milliseconds: 1_700_000_000_000)

  private func days(_ days: Int, _ seconds: Int = 0) -> WallTime {
    end + .seconds(seconds - days * 86_400)
  }

  /// Takes an end at a time that both clocks tell.
  private func tell(
    _ end: WallTime?, at time: WallTime, _ enrolment: inout HostEnrolment
  ) -> Int? {
    enrolment.told(end, at: time, Instant(nanoseconds: 0) + (time - days(1000)))
  }

  @Test func eachWarningComesOnce() {
    var enrolment = HostEnrolment()
    let times: [(WallTime, Int?)] = [
      (days(90), nil), (days(30, -1), nil), (days(30), 30), (days(29), nil), (days(8), nil),
      (days(7), 7), (days(2), nil), (days(1), 1), (days(0, -60), nil), (days(0, 60), nil),
    ]
    for (time, warning) in times {
      expect(tell(end, at: time, &enrolment), equals: warning, "\(time.iso8601)")
    }
  }

  /// A host that nobody used for a month is told what is so now, and nothing else.
  @Test func aLateWarningIsTheOneThatIsDue() {
    var enrolment = HostEnrolment()
    expect(tell(end, at: days(5), &enrolment), equals: 7)
    expect(tell(end, at: days(4), &enrolment) == nil)
  }

  @Test func aRenewedEnrolmentWarnsAnew() {
    var enrolment = HostEnrolment()
    expect(tell(end, at: days(1), &enrolment), equals: 1)
    expect(tell(end + .seconds(90 * 86_400), at: days(1), &enrolment) == nil)
    expect(tell(end + .seconds(90 * 86_400), at: days(-60), &enrolment), equals: 30)
    // Another end in the same time needs no other warning.
    expect(tell(end + .seconds(89 * 86_400), at: days(-60), &enrolment) == nil)
  }

  /// Such as two servers behind one address, or one that wants to fill the journal.
  @Test func aBackendThatSaysAnotherEndEachTimeWarnsOnceADay() {
    var enrolment = HostEnrolment()
    var warnings: [Int] = []
    for hour in 0..<48 {
      let ends = [end, end + .seconds(20 * 86_400), nil]
      warnings += tell(ends[hour % 3], at: days(5, hour * 3600), &enrolment).map { [$0] } ?? []
    }
    expect(warnings, equals: [7, 7])
    // A nearer end does not wait.
    expect(tell(days(4), at: days(3, -60), &enrolment), equals: 1)
  }

  @Test func onlyATimeWithItsZoneIsAnEnd() {
    func end(_ text: String) -> WallTime? {
      HTTPReply(
        status: 200, headers: [.init(name: "credd-host-expires", value: text)], body: Secret("{}")
      ).hostEnrolmentEnd
    }
    expect(end("2026-12-01T08:00:00Z")?.iso8601, equals: "2026-12-01T08:00:00Z")
    for text in ["", "soon", "1796112000", "2026-12-01T08:00:00", "2026-12-01"] {
      expect(end(text) == nil, "\(text)")
    }
  }
}
