import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// A linked sign-in outlives what says nothing about it, and is renewed only for what it gives.
struct KeptLinkTests {
  private static let refresh = #"{"refresh":true,"wait":60}"#

  /// A backend may keep tokens for too long. That says nothing about the link.
  @Test func anExpiredTokenOfTheBackendEndsNoLink() throws {
    let host = try LinkedHost()
    try host.link()
    host.fixture.advance(by: .seconds(600))
    let upstreams = host.fixture.host.upstreams
    let usual = upstreams.tokenLifetime
    let answer = host.fixture.host.http.answer
    upstreams.tokenLifetime = .seconds(-5)
    host.fixture.host.http.answer = { request in
      defer { if request.url == "http://127.0.0.1/token" { upstreams.tokenLifetime = usual } }
      return answer(request)
    }
    expect(try host.ask(Self.refresh).accessKeyID != nil)
    expect(host.linked.suffix(2).allSatisfy { $0 != nil })
    host.fixture.advance(by: .seconds(5))
    expect(host.provider.live, equals: ["refresh-1"])
  }

  /// A host's own token that has run out says nothing about the user's account.
  @Test func aBackendThatRefusesTheHostEndsNoLink() throws {
    let host = try LinkedHost()
    try host.link()
    host.fixture.advance(by: .seconds(600))
    host.refusals = [.reply(403, #"{"Code":"HostNotAuthorized"}"#)]
    _ = try host.ask(Self.refresh)
    host.fixture.advance(by: .seconds(600))
    expect(host.provider.live, equals: ["refresh-1"])
  }

  /// Nor does any other answer that says nothing about the account.
  @Test func anAnswerForAnotherPoolEndsNoLink() throws {
    let host = try LinkedHost()
    try host.link()
    host.fixture.advance(by: .seconds(600))
    let other = "us-west-2:00000000-0000-4000-8000-000000000009"
    host.refusals = [.reply(200, #"{"IdentityId":"\#(other)","Token":"e30.e30.e30"}"#)]
    _ = try host.ask(Self.refresh)
    host.fixture.advance(by: .seconds(600))
    expect(host.provider.live, equals: ["refresh-1"])
  }

  /// The backend refuses what was added, and takes it where the linked account is left out.
  @Test func aLoginThatTheBackendRefusesBesideTheLinkEndsNoLink() throws {
    let host = try LinkedHost()
    try host.link()
    host.fixture.advance(by: .seconds(5))
    host.refusals = [.reply(409, #"{"message":"another user has this"}"#)]
    let callbacks = host.linked.count
    _ = try host.ask(#"{"op":"login","logins":{"graph.facebook.com":"e30.e30.e30"}}"#)
    host.fixture.advance(by: .seconds(5))
    expect(host.provider.live, equals: ["refresh-1"])
    expect(host.linked.dropFirst(callbacks).allSatisfy { $0 != nil })
  }

  /// It waits for what no renewal brings any more.
  @Test(arguments: [Duration.milliseconds(10), .seconds(2), .seconds(5)])
  func whoWaitsForATokenThatIsNotGivenAnyMoreHasNothingRenewed(_ delay: Duration) throws {
    let text = { (kinds: String) in Configured.linking(profile: "vend_tokens = \(kinds)") }
    let host = try LinkedHost(text("id access"))
    try host.link()
    host.fixture.advance(by: .seconds(3600))
    host.provider.delay = delay
    let client = host.fixture.connect()
    client.sendOnly(#"{"op":"token","kind":"access","wait":30}"#)
    host.fixture.advance(by: .milliseconds(5))
    try host.fixture.reload(text("id"))
    host.fixture.advance(by: .seconds(31))
    expect(try client.next().errorCode != nil)
    expect(host.renewals.count <= 1, "\(host.renewals.count)")
  }

  @Test(arguments: [Duration.milliseconds(10), .seconds(2), .seconds(5)])
  func whoWaitsForAnOwnTokenThatIsNotGivenAnyMoreHasNothingRenewed(_ delay: Duration) throws {
    let text = { (kinds: String) in Configured.provider(profile: "vend_tokens = \(kinds)") }
    let fixture = try ServiceFixture(text("id access"))
    let provider = FakeProvider(fixture)
    let asked = try fixture.ask(FakeProvider.login)
    _ = try fixture.ask(asked.response("response", "\"\(provider.browse(asked))\""))
    fixture.advance(by: .seconds(3600))
    provider.delay = delay
    let before = provider.forms.count
    let client = fixture.connect()
    client.sendOnly(#"{"op":"token","kind":"access","wait":30}"#)
    fixture.advance(by: .milliseconds(5))
    try fixture.reload(text("id"))
    fixture.advance(by: .seconds(31))
    expect(try client.next().errorCode != nil)
    expect(provider.forms.count - before <= 1, "\(provider.forms.count - before)")
  }
}
