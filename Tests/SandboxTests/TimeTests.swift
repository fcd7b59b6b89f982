import FoundationEssentials
import TestSupport
import Testing

@testable import SandboxKit

struct TimeTests {
  let date = Date(timeIntervalSince1970: 1_442_945_283)

  @Test func spellings() {
    expect(date.iso8601Text, equals: "2015-09-22T18:08:03Z")
    expect(date.basicISO8601Text, equals: "20150922T180803Z")
    expect(date.httpText, equals: "Tue, 22 Sep 2015 18:08:03 GMT")
    expect(Date(iso8601Text: "2015-09-22T18:08:03Z"), equals: date)
    expect(Date(basicISO8601Text: "20150922T180803Z"), equals: date)
  }

  @Test(arguments: ["", "2015-09-22", "2015-09-22T18:08:03.5Z", "2015-13-22T18:08:03Z"])
  func refusesOtherForms(_ text: String) {
    expect(Date(iso8601Text: text) == nil)
  }
}
