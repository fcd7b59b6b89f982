import CredCore
import CredctlKit
import TestSupport
import Testing

/// `credctl status` puts pages together.
struct StatusPagesTests {
  private func page(_ sessions: Range<Int>, next: String?) throws -> JSONValue {
    let list = sessions.map { #"{"Profile":"p\#($0)","Uid":\#($0)}"# }.joined(separator: ",")
    let next = next.map { #","Next":"\#($0)""# } ?? ""
    return try JSONValue.parse(
      Array(#"{"Version":1,"Sessions":[\#(list)],"Daemon":{"Version":"1"}\#(next)}"#.utf8))
  }

  @Test func allPagesAreOneReply() throws {
    var pages = StatusPages()
    try pages.add(page(0..<3, next: "2/p2"))
    expect(pages.next == "2/p2" && !pages.isOnePage)
    try pages.add(page(3..<5, next: nil))
    expect(pages.next == nil && !pages.isOnePage)
    var whole: [UInt8] = pages.line
    expect(whole.popLast(), equals: 0x0A)
    expect(
      String(decoding: whole, as: UTF8.self),
      equals: #"{"Version":1,"Sessions":[{"Profile":"p0","Uid":0},{"Profile":"p1","Uid":1},"#
        + #"{"Profile":"p2","Uid":2},{"Profile":"p3","Uid":3},{"Profile":"p4","Uid":4}],"#
        + #""Daemon":{"Version":"1"}}"#)
  }

  @Test func aSinglePageIsTheDaemonsOwnLine() throws {
    var pages = StatusPages()
    try pages.add(page(0..<3, next: nil))
    expect(pages.isOnePage)
  }

  @Test func pagesWithoutAnEndAreAnError() throws {
    var pages = StatusPages()
    try pages.add(page(0..<3, next: "2/p2"))
    #expect(throws: Failure.self) { try pages.add(page(3..<5, next: "2/p2")) }
    var empty = StatusPages()
    #expect(throws: Failure.self) { try empty.add(page(0..<0, next: "2/p2")) }
  }
}
