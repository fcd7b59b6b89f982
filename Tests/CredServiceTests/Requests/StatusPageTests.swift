import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// `status` in pages.
struct StatusPageTests {
  private let names = (0..<5).map { "p\($0)" }

  /// Users 1 to `users`, each with a session in every profile.
  private func fixture(users: UInt32) throws -> ServiceFixture {
    let fixture = try ServiceFixture(
      Configured.http() + names.map { Configured.profile($0) }.joined())
    for uid in 1...users {
      for name in names {
        _ = try fixture.ask(#"{"op":"release","profile":"\#(name)"}"#, uid: uid)
      }
    }
    return fixture
  }

  private func sessions(_ reply: Reply) -> [String] {
    (0..<(reply["Sessions"]?.count ?? 0)).compactMap { index in
      guard let session = reply["Sessions"]?[index] else { return nil }
      return "\(session["Uid"]?.integer ?? -1)/\(session["Profile"]?.text ?? "")"
    }
  }

  private func pages(
    _ fixture: ServiceFixture, uid: UInt32, _ keys: String,
    meanwhile: (Int) throws -> Void = { _ in }
  ) throws -> [[String]] {
    var pages: [[String]] = []
    var after = ""
    while pages.count < 1000 {
      let reply = try fixture.ask(#"{"op":"status",\#(keys)\#(after)}"#, uid: uid)
      pages.append(sessions(reply))
      guard let next = reply["Next"]?.text else { break }
      after = #","after":"\#(next)""#
      try meanwhile(pages.count)
    }
    return pages
  }

  @Test func pagesHoldEverySessionOnce() throws {
    let fixture = try fixture(users: 30)
    let all = (1...30).flatMap { uid in names.map { "\(uid)/\($0)" } }
    for limit in [1, 7, 149, 150, 151, 1000] {
      let found = try pages(fixture, uid: 0, #""all":true,"limit":\#(limit)"#)
      expect(found.flatMap(\.self), equals: all, "\(limit)")
      expect(found.dropLast().allSatisfy { $0.count == limit }, "\(limit)")
      expect(found.count, equals: (150 + limit - 1) / limit, "\(limit)")
    }
    // Without a limit as before: all of them in one reply.
    expect(try pages(fixture, uid: 0, #""all":true"#), equals: [all])
  }

  @Test func aUsersPagesHoldNobodyElsesSessions() throws {
    let fixture = try fixture(users: 30)
    let own = names.map { "17/\($0)" }
    expect(try pages(fixture, uid: 17, #""limit":2"#).flatMap(\.self), equals: own)
    // A place of somebody else's leads to one's own, or to none.
    for (after, expected) in [("1/p3", own), ("17/p2", ["17/p3", "17/p4"]), ("18/p0", [])] {
      let reply = try fixture.ask(#"{"op":"status","after":"\#(after)"}"#, uid: 17)
      expect(sessions(reply), equals: expected, "\(after)")
      expect(reply["Next"] == nil)
    }
  }

  @Test func sessionsThatComeAndGoBetweenPagesAreNeitherRepeatedNorInTheWay() throws {
    let fixture = try fixture(users: 10)
    let found = try pages(fixture, uid: 0, #""all":true,"limit":5"#) { page in
      // The session that the next page begins behind is gone.
      if page == 2 { try fixture.reload(Configured.http() + Configured.profile("p0")) }
      if page == 3 { _ = try fixture.ask(#"{"op":"release","profile":"p0"}"#, uid: 99) }
    }
    let flat = found.flatMap(\.self)
    expect(Set(flat).count, equals: flat.count)
    expect(flat, equals: flat.sorted { place($0) < place($1) })
    expect(flat.contains("99/p0"))
    expect(Set((3...10).map { "\($0)/p0" }).isSubset(of: flat))
  }

  private func place(_ text: String) -> SessionKey {
    let place = SessionCursor(text)
    return SessionKey(uid: place?.uid ?? 0, profile: place?.profile ?? "")
  }

  @Test func aPageStaysBelowAMegabyte() throws {
    let fixture = try fixture(users: 400)
    let reply = try fixture.ask(#"{"op":"status","all":true,"limit":1000}"#, uid: 0)
    expect(reply["Sessions"]?.count, equals: 1000)
    expect(reply.text.utf8.count < 1 << 20)
    let plain = try fixture.ask(#"{"op":"status","all":true}"#, uid: 0)
    expect(plain["Sessions"]?.count, equals: Limits.Line.standardStatusPage)
    expect(plain["Next"]?.text != nil)
  }

  @Test(arguments: [
    #""limit":0"#, #""limit":1001"#, #""limit":1.5"#, #""limit":"5""#, #""after":"""#,
    #""after":"x/p""#, #""after":"1""#, #""after":"1/""#, #""after":"1/p/q""#, #""after":"-1/p""#,
    #""after":"4294967296/p""#, #""after":7"#,
  ])
  func aWrongPlaceOrLimitIsRefused(_ keys: String) throws {
    let fixture = try fixture(users: 1)
    let reply = try fixture.ask(#"{"op":"status",\#(keys)}"#, uid: 1)
    expect(reply.errorCode, equals: "InvalidRequest", "\(reply)")
  }
}
