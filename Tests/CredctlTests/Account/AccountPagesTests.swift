import CredCore
import CredctlKit
import TestSupport
import Testing

struct AccountPagesTests {
  private let display = TextTable.Display(width: nil, hasColour: false)

  private func reply(_ text: String) throws -> JSONValue { try JSONValue.parse(Array(text.utf8)) }

  @Test func listsSessionsOfAllPages() throws {
    var pages = AccountPages(of: .sessions)
    try pages.add(
      try reply(
        #"{"Sessions":[{"Session":"tkn1","Kind":"token","Client":"c1","#
          + #""Created":"2026-01-01T00:00:00Z","LastUsed":"2026-01-01T00:50:00Z","#
          + #""LastAddress":"192.0.2.1","Place":"Bern","Device":"Linux","This":true}],"#
          + #""Next":"n"}"#))
    expect(pages.next, equals: "n")
    try pages.add(try reply(#"{"Sessions":[{"Session":"sso2","Kind":"sso","This":false}]}"#))
    let now = try #require(WallTime(iso8601: "2026-01-01T01:00:00Z"))
    expect(
      pages.rendered(on: display, now: now),
      equals: """
        SESSION  KIND   DEVICE  PLACE  ADDRESS    CREATED     LAST USED   CLIENT  THIS
        tkn1     token  Linux   Bern   192.0.2.1  60 min ago  10 min ago  c1      yes
        sso2     sso    -       -      -          -           -           -       -

        """)
    expect(AccountPages(of: .sessions).rendered(on: display, now: now), equals: "no sessions\n")
  }

  @Test func allPagesAreOneLineOfJSON() throws {
    var pages = AccountPages(of: .devices)
    try pages.add(
      try reply(#"{"Version":1,"Devices":[{"Device":"a","Count":1.50}],"Next":"n","Id":1}"#))
    expect(!pages.isOnePage)
    try pages.add(try reply(#"{"Version":1,"Devices":[{"Device":"b","This":true}],"Id":2}"#))
    expect(!pages.isOnePage)
    expect(
      String(decoding: pages.line, as: UTF8.self),
      equals: #"{"Version":1,"Devices":[{"Device":"a","Count":1.50},{"Device":"b","This":true}],"#
        + "\"Id\":2}\n")
    var one = AccountPages(of: .devices)
    try one.add(try reply(#"{"Version":1,"Devices":[]}"#))
    expect(one.isOnePage)
  }

  @Test func sessionsWithoutAnEndAreAFault() throws {
    var pages = AccountPages(of: .sessions)
    try pages.add(try reply(#"{"Sessions":[],"Next":"n"}"#))
    #expect(throws: Failure.self) { try pages.add(try reply(#"{"Sessions":[],"Next":"n"}"#)) }
  }
}
