import CredCore
import TestSupport
import Testing

struct WallTimeTests {
  @Test(
    arguments: [
      (0, "1970-01-01T00:00:00Z"),
      (-1, "1969-12-31T23:59:59Z"),
      (951_782_400, "2000-02-29T00:00:00Z"),
      (1_709_164_799, "2024-02-28T23:59:59Z"),
      (1_709_164_800, "2024-02-29T00:00:00Z"),
      (1_709_251_200, "2024-03-01T00:00:00Z"),
      (1_735_689_599, "2024-12-31T23:59:59Z"),
      (4_107_542_399, "2100-02-28T23:59:59Z"),
      (4_107_542_400, "2100-03-01T00:00:00Z"),
      (253_402_300_799, "9999-12-31T23:59:59Z"),
      (-2_203_891_200, "1900-03-01T00:00:00Z"),
      (-62_167_219_200, "0000-01-01T00:00:00Z"),
    ] as [(Int64, String)])
  func writesAndReadsISO8601(seconds: Int64, text: String) {
    expect(WallTime(milliseconds: seconds * 1000).iso8601, equals: text)
    expect(WallTime(iso8601: text), equals: WallTime(milliseconds: seconds * 1000))
  }

  @Test func neverRoundsUp() {
    expect(WallTime(milliseconds: 1999).iso8601, equals: "1970-01-01T00:00:01Z")
    expect(WallTime(milliseconds: -1).iso8601, equals: "1969-12-31T23:59:59Z")
  }

  @Test func staysWithinFourDigitsOfAYear() {
    expect(WallTime(milliseconds: .max).iso8601, equals: "9999-12-31T23:59:59Z")
    expect(WallTime(milliseconds: .min).iso8601, equals: "0000-01-01T00:00:00Z")
  }

  @Test func everyDayOfACenturyFollowsTheOneBefore() {
    var day: Int64 = 820_454_400  // 1996, so that 2000 and 2100 are within
    while day < 4_228_000_000 {
      let time = WallTime(milliseconds: day * 1000)
      guard WallTime(iso8601: time.iso8601) == time else {
        Issue.record("\(time.iso8601) is not second \(day)")
        return
      }
      day += 86_400
    }
  }

  @Test(arguments: [
    "", "2024", "2024-05-06", "2024-05-06T07:08:09", "2024-13-06T07:08:09Z",
    "2024-00-06T07:08:09Z", "2023-02-29T00:00:00Z", "2100-02-29T00:00:00Z",
    "2024-04-31T00:00:00Z", "2024-05-00T00:00:00Z", "2024-05-06T24:00:00Z",
    "2024-05-06T07:60:00Z", "2024-05-06T07:08:61Z", "2024-05-06T07:08:09.Z",
    "2024-05-06T07:08:09+2", "2024-05-06T07:08:09+24:00", "2024-05-06T07:08:09+01:",
    "2024-05-06T07:08:09Z ", " 2024-05-06T07:08:09Z", "24-05-06T07:08:09Z", "1714979289",
    "2024-05-06T07:08:0\u{0661}Z",
  ])
  func refusesAnInvalidTime(text: String) {
    expect(WallTime(iso8601: text) == nil)
  }

  @Test(arguments: [
    "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
    "Sun Nov  6 08:49:37 1994", "Mon, 06 Nov 1994 08:49:37 GMT",
  ])
  func readsTheThreeHTTPDates(text: String) {
    expect(WallTime(httpDate: text), equals: WallTime(milliseconds: 784_111_777_000))
  }

  @Test(arguments: [
    "Sun, 06 Nov 1994 08:49:37 GMT", "Thu, 01 Jan 1970 00:00:00 GMT",
    "Wed, 31 Dec 1969 23:59:59 GMT", "Thu, 29 Feb 2024 12:00:00 GMT",
  ])
  func writesAnHTTPDate(text: String) throws {
    expect(try #require(WallTime(httpDate: text)).httpDate, equals: text)
  }

  @Test func twoDigitsOfAYearPivotAt70() {
    expect(
      WallTime(httpDate: "Monday, 06-Nov-69 08:49:37 GMT")?.iso8601, equals: "2069-11-06T08:49:37Z")
    expect(
      WallTime(httpDate: "Monday, 06-Nov-70 08:49:37 GMT")?.iso8601, equals: "1970-11-06T08:49:37Z")
    expect(WallTime(httpDate: "Wed Feb 29 00:00:00 2040")?.iso8601, equals: "2040-02-29T00:00:00Z")
  }

  @Test(arguments: [
    "", "Sun", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 CET",
    "Sun, 06 Nov 1994 08:49:37", "Sun, 31 Feb 1994 08:49:37 GMT", "Son, 06 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 08:49:37 GMT+1", "Sun Nov 6 08:49:37 1994", "06 Nov 1994 08:49:37 GMT",
    "Sunday, 06 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT",
  ])
  func refusesAnInvalidHTTPDate(text: String) {
    expect(WallTime(httpDate: text) == nil)
  }

  @Test func readsRetryAfter() {
    let now = WallTime(milliseconds: 784_111_777_000)
    expect(Duration(retryAfter: "120", now: nil), equals: .seconds(120))
    expect(Duration(retryAfter: "0", now: now), equals: .zero)
    expect(Duration(retryAfter: "Sun, 06 Nov 1994 08:50:37 GMT", now: now), equals: .seconds(60))
    expect(Duration(retryAfter: "Sun, 06 Nov 1994 08:48:37 GMT", now: now), equals: .zero)
    expect(Duration(retryAfter: "99999999999999999999", now: now), equals: .seconds(Int32.max))
    expect(Duration(retryAfter: "Sun, 06 Nov 1994 08:50:37 GMT", now: nil) == nil)
    for broken in ["", "-1", "1.5", "1 s", "soon"] {
      expect(Duration(retryAfter: broken, now: now) == nil)
    }
  }

  @Test func arithmeticSaturates() {
    expect(WallTime(secondsSince1970: 1e300).milliseconds, equals: .max)
    expect(WallTime(secondsSince1970: -.infinity).milliseconds, equals: .min)
    expect(WallTime(secondsSince1970: .nan).milliseconds, equals: 0)
    expect(WallTime(milliseconds: .max) + .seconds(1), equals: WallTime(milliseconds: .max))
    expect(WallTime(milliseconds: .min) + .seconds(-1), equals: WallTime(milliseconds: .min))
    expect(Instant.seconds(1e300), equals: .distantFuture)
    expect(Duration.seconds(9e9) * 1e9, equals: .nanoseconds(Int64.max))
  }
}
