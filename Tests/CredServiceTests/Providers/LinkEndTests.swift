import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// How a sign-in that is linked ends: by a logout, by a refusal, and where its provider is elsewhere.
struct LinkEndTests {
  // MARK: While the callback is under way

  /// The sign-in that is linked and the one that is to replace it end, each once.
  @Test(arguments: [true, false])
  func aLogoutWhileALinkWaitsForItsCallbackEndsBoth(_ revokes: Bool) throws {
    let host = try LinkedHost()
    try host.link()
    host.provider.user = "bob"
    let asked = try host.signIn()
    host.refusals = [.silence]
    let client = host.fixture.connect()
    client.send(asked.response("confirm", "true"))
    expect(client.hasReadAll && host.provider.live.count == 2)
    let logout = try host.ask(#"{"op":"logout","revoke":\#(revokes)}"#)
    expect(logout.state, equals: "signedOut", "\(logout)")
    expect(try client.next().errorCode, equals: "SignInFailed")
    host.fixture.advance(by: .seconds(5))
    expect(host.provider.live.isEmpty, equals: revokes)
    expect(host.provider.operations.count { $0 == "revoke" }, equals: (revokes ? 2 : 0))
  }

  /// A reload leaves the provider meanwhile.
  @Test func aReloadWhileALinkWaitsForItsCallbackEndsEachTokenOnce() throws {
    let host = try LinkedHost()
    try host.link()
    host.provider.user = "bob"
    let asked = try host.signIn()
    host.refusals = [.silence]
    let client = host.fixture.connect()
    client.send(asked.response("confirm", "true"))
    try host.fixture.reload(Configured.linking().replacing("link_backend = okta", with: ""))
    expect(try client.next().errorCode, equals: "SignInFailed")
    host.fixture.advance(by: .seconds(5))
    expect(host.provider.live.isEmpty)
    expect(host.provider.operations.count { $0 == "revoke" }, equals: 2)
  }

  /// The backend has not seen the new link: nobody knows whether it takes it.
  @Test(arguments: [true, false])
  func aBackendThatIsAwayLinksNobody(_ isLinked: Bool) throws {
    let host = try LinkedHost()
    if isLinked { try host.link() } else { expect(try host.ask().accessKeyID != nil) }
    host.provider.user = "bob"
    let asked = try host.signIn()
    host.refusals = [.reply(503, "")]
    let reply = try host.ask(asked.response("confirm", "true"))
    expect(reply.errorCode, equals: "BackendUnavailable", "\(reply)")
    host.fixture.advance(by: .seconds(5))
    expect(host.provider.live, equals: (isLinked ? ["refresh-1"] : []))
    expect(try host.ask().accessKeyID != nil)
  }

  // MARK: After it was linked

  private static let refusal = FakeHTTP.Answer.reply(409, #"{"message":"another user has this"}"#)

  /// The user signed in to this host, and not only to the provider.
  @Test func aLinkThatTheBackendRefusesLaterEndsAlone() throws {
    let host = try LinkedHost()
    try host.link()
    let watcher = host.fixture.connect()
    watcher.send(#"{"op":"watch"}"#)
    _ = try watcher.next()
    host.fixture.advance(by: .seconds(600))
    host.refusals = [Self.refusal]
    expect(try host.ask(#"{"refresh":true,"wait":60}"#).accessKeyID != nil)
    expect(host.linked.suffix(2).map { $0 == nil }, equals: [false, true])
    let told = try watcher.next()
    expect(told["Error"]?["Message"]?.text?.contains("\"alice\" has ended") == true, "\(told)")
    host.fixture.advance(by: .seconds(5))
    expect(host.provider.live.isEmpty)
    expect(try host.ask(#"{"refresh":true,"wait":60}"#).accessKeyID != nil)
    expect(host.linked.last, equals: .some(nil))
  }

  @Test func aBackendThatRefusesTheUserEndsNoLink() throws {
    let host = try LinkedHost()
    try host.link()
    host.fixture.advance(by: .seconds(600))
    host.refusals = Array(repeating: Self.refusal, count: 3)
    expect(try host.ask(#"{"refresh":true,"wait":1}"#).errorCode != nil)
    host.fixture.advance(by: .seconds(600))
    expect(host.provider.live.count, equals: 1)
    expect(try host.ask(#"{"refresh":true,"wait":60}"#).accessKeyID != nil)
    expect(host.linked.last??.hasPrefix("ey") == true)
  }

  /// The password session ended while the browser was elsewhere.
  @Test func aSignInThatCannotBeLinkedAnyMoreIsRevoked() throws {
    let host = try LinkedHost(
      Configured.linking(corp: "login_url = http://127.0.0.1/login"))
    let alice = #"{"op":"login","username":"alice","password":"alice-password"}"#
    expect(try host.ask(alice).state, equals: "signedIn")
    let asked = try host.signIn()
    host.fixture.advance(by: .seconds(5))
    host.refusals = [.reply(401, "")]
    expect(try host.ask(#"{"refresh":true,"wait":1}"#).errorCode, equals: "SignInRequired")
    let reply = try host.ask(asked.response("confirm", "true"))
    expect(reply.errorCode != nil, "\(reply)")
    host.fixture.advance(by: .seconds(5))
    expect(host.provider.live.isEmpty)
  }

  /// A client answers, and another one waits for what comes of it. The linked person is the same, so
  /// that there is no further question.
  private func relink(
    _ host: LinkedHost, waiting seconds: Int
  ) throws -> (answering: TestClient, waiting: TestClient) {
    try host.link()
    host.provider.delay = .seconds(1)
    let asked = try host.ask(LinkedHost.login)
    let (answering, waiting) = (host.fixture.connect(), host.fixture.connect())
    answering.send(asked.response("response", "\"\(host.provider.browse(asked))\""))
    waiting.send(asked.waiting(seconds))
    expect(answering.hasReadAll && waiting.hasReadAll)
    return (answering, waiting)
  }

  @Test func whoeverWaitsLearnsThatTheBackendRefusesTheLink() throws {
    let host = try LinkedHost()
    let (answering, waiting) = try relink(host, waiting: 10)
    let refusal = FakeHTTP.Answer.reply(409, #"{"message":"another user has this login"}"#)
    host.refusals = [refusal, refusal, refusal]
    host.fixture.advance(by: .seconds(2))
    let (one, other) = try (answering.next(), waiting.next())
    expect(one.errorCode != nil, "\(one)")
    expect(other.errorCode == one.errorCode && other.errorMessage == one.errorMessage, "\(other)")
  }

  @Test func whoeverWaitsLearnsThatTheSignInIsLinked() throws {
    let host = try LinkedHost()
    let (answering, waiting) = try relink(host, waiting: 10)
    host.fixture.advance(by: .seconds(2))
    expect(try answering.next().state, equals: "signedIn")
    expect(try waiting.next().state, equals: "signedIn")
  }

  @Test func whoeverWaitsForALinkDoesSoInItsOwnTime() throws {
    let host = try LinkedHost()
    let (answering, waiting) = try relink(host, waiting: 2)
    host.refusals = [.silence]
    host.fixture.advance(by: .milliseconds(2500))
    expect(try waiting.next().errorCode, equals: "Timeout")
    expect(answering.hasReadAll)
  }

  @Test func whoeverWaitsForALinkMayLeave() throws {
    let host = try LinkedHost()
    let (answering, waiting) = try relink(host, waiting: 10)
    host.refusals = [.silence]
    host.fixture.advance(by: .milliseconds(1500))
    waiting.leave()
    _ = try host.ask(#"{"op":"logout"}"#)
    expect(try answering.next().errorCode, equals: "SignInFailed")
    expect(waiting.hasReadAll)
  }

  // MARK: Another authority

  private static let elsewhere =
    "ca_file = /etc/other.pem\nrevocation_endpoint = https://moved.example.com/revoke"

  @Test(arguments: [true, false])
  func afterARestartALinkGoesToItsOwnPlaceAlone(_ isElsewhere: Bool) throws {
    let host = try LinkedHost()
    try host.link()
    try host.fixture.restart(Configured.linking(provider: isElsewhere ? Self.elsewhere : ""))
    host.fixture.advance(by: .seconds(3600))
    expect(try host.ask(#"{"refresh":true,"wait":60}"#).accessKeyID != nil)
    expect((host.linked.last == .some(nil)), equals: isElsewhere)
    expect(host.renewals.isEmpty, equals: isElsewhere)
    expect(!host.provider.operations.contains("revoke"))
  }

  @Test func afterAReloadALinkGoesNowhereElse() throws {
    let host = try LinkedHost()
    try host.link()
    try host.fixture.reload(Configured.linking(provider: Self.elsewhere))
    host.fixture.advance(by: .seconds(5))
    let revoked = host.fixture.host.http.requests.filter { $0.operation == "revoke" }
    expect(revoked.map(\.url), equals: ["https://login.example.com/revoke"])
    expect(host.provider.live.isEmpty)
    host.fixture.advance(by: .seconds(3600))
    expect(try host.ask(#"{"refresh":true,"wait":60}"#).accessKeyID != nil)
    expect(host.linked.last == .some(nil) && host.renewals.isEmpty)
  }
}
