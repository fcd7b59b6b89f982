import TestSupport
import Testing

@testable import CredCore

/// The end of this host's enrolment at a backend: a warning 30 days, 7 days and a day before.
struct HostEnrolmentTests {
  private let end = WallTime(milliseconds: 1_700_000_000_000)

  private func days(_ days: Int, _ seconds: Int = 0) -> WallTime {
    end + .seconds(seconds - days * 86_400)
  }

  @Test func eachWarningComesOnce() {
    var enrolment = HostEnrolment(end: end)
    let times: [(WallTime, Int?)] = [
      (days(90), nil), (days(30, -1), nil), (days(30), 30), (days(29), nil), (days(8), nil),
      (days(7), 7), (days(2), nil), (days(1), 1), (days(0, -60), nil), (days(0, 60), nil),
    ]
    for (time, warning) in times {
      expect(enrolment.told(end, at: time), equals: warning, "\(time.iso8601)")
    }
  }

  /// A host that nobody used for a month is told what is so now, and nothing else.
  @Test func aLateWarningIsTheOneThatIsDue() {
    var enrolment = HostEnrolment(end: end)
    expect(enrolment.told(end, at: days(5)), equals: 7)
    expect(enrolment.told(end, at: days(4)) == nil)
  }

  @Test func aRenewedEnrolmentWarnsAnew() {
    var enrolment = HostEnrolment(end: end)
    expect(enrolment.told(end, at: days(1)), equals: 1)
    expect(enrolment.told(end + .seconds(90 * 86_400), at: days(1)) == nil)
    expect(enrolment.told(end + .seconds(90 * 86_400), at: days(-60)), equals: 30)
    // Another end in the same time says nothing new.
    expect(enrolment.told(end + .seconds(89 * 86_400), at: days(-60)) == nil)
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
