import AuthCore
import Testing

/// What the server's log says of enrolments that end soon.
struct EnrolmentEndTests {
  private let end = Timestamp(milliseconds: 1_700_000_000_000)

  @Test func eachEndIsSaidThreeTimes() {
    var ends = EnrolmentEnds()
    func due(_ daysBefore: Double) -> [Int] {
      let now = end + Interval(milliseconds: Int64(-daysBefore * 86_400_000))
      return ends.due([("web1", end)], at: now).map(\.days)
    }
    let expected: [(Double, [Int])] = [
      (31, []), (30, [30]), (29, []), (7.1, []), (7, [7]), (2, []), (1, [1]), (0.5, []), (0, []),
    ]
    for (days, notices) in expected { #expect(due(days) == notices, "\(days)") }
  }

  @Test func aRenewedEnrolmentIsSaidAnew() {
    var ends = EnrolmentEnds()
    let now = end + .days(-1)
    #expect(ends.due([("web1", end), ("web2", end)], at: now).count == 2)
    #expect(ends.due([("web1", end)], at: now).isEmpty)
    // It left the list, and comes back with its new end.
    let later = end + .days(60)
    let notice = EnrolmentEnds.Notice(host: "web2", end: end + .days(90), days: 30)
    #expect(ends.due([("web2", end + .days(90))], at: later) == [notice])
  }
}
