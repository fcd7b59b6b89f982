import CredCore
import CredctlKit
import Testing

@Suite struct EventLineTests {
  private func text(_ event: SessionEvent) throws -> String {
    let reply = RenderedReply.event(event, profile: "work")
    return EventLine.text(of: try JSONValue.parse(reply.bytes), now: WallTime(milliseconds: 0))
  }

  private let hour = WallTime(milliseconds: 7_200_000)

  @Test func saysEachEvent() throws {
    let b = try IdentityID("us-east-1:b")
    #expect(try text(.state(.signedOut, identityID: nil)) == "1970-01-01T00:00:00Z work: signedOut")
    #expect(try text(.state(.guest, identityID: b)).hasSuffix("work: guest as us-east-1:b"))
    #expect(
      try text(.identityChanged(previous: nil, current: b))
        .hasSuffix("work: identity changed from none to us-east-1:b"))
    #expect(
      try text(.refreshed(identityID: b, expiration: hour, nextRefresh: nil))
        .hasSuffix("work: refreshed, expires in 2 h"))
    #expect(
      try text(.degraded(ProtocolError(.timeout, "slow"), expiration: hour))
        .hasSuffix("work: degraded: Timeout: slow, expires in 2 h"))
  }
}
