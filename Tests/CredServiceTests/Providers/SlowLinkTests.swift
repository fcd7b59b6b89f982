import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// A linked provider that answers late, or not at all: only those wait for it who want its own tokens.
struct SlowLinkTests {
  private static let id = #"{"op":"token","kind":"id","wait":60}"#
  private static let refresh = #"{"refresh":true,"wait":60}"#

  /// Linked, with an ID token that has ended, at a provider that takes its time.
  private func host(_ delay: Duration) throws -> LinkedHost {
    let host = try LinkedHost(Configured.linking(profile: "vend_tokens = id"))
    try host.link()
    host.fixture.advance(by: .seconds(3600))
    host.provider.delay = delay
    return host
  }

  private func send(_ line: String, to host: LinkedHost) -> TestClient {
    let client = host.fixture.connect()
    client.sendOnly(line)
    return client
  }

  @Test func aProviderThatHangsHoldsUpCredentialsForAMoment() throws {
    let host = try host(.seconds(10))
    let callbacks = host.linked.count
    let client = send(Self.refresh, to: host)
    host.fixture.advance(by: .milliseconds(2900))
    expect(host.linked.count, equals: callbacks)
    host.fixture.advance(by: .milliseconds(200))
    expect(try client.next().accessKeyID != nil)
    expect(host.linked.count == callbacks + 1 && host.linked.last == .some(nil))
    // Who comes meanwhile does not wait at all, and asks the provider nothing.
    host.fixture.advance(by: .seconds(2))
    expect(try host.ask(#"{"refresh":true,"wait":1}"#).accessKeyID != nil)
    expect(host.renewals, equals: ["refresh-1"])
    // What it brings is kept, and goes into the next callback.
    host.fixture.advance(by: .seconds(10))
    expect(try host.ask(Self.refresh).accessKeyID != nil)
    expect(host.linked.last??.hasPrefix("ey") == true)
    expect(host.renewals == ["refresh-1"] && host.provider.misuses == 0)
  }

  /// In whichever order they come.
  @Test(arguments: [true, false])
  func whoWaitsForATokenOfTheLinkGetsIt(_ isFirst: Bool) throws {
    let host = try host(.seconds(10))
    let first = send(isFirst ? Self.id : Self.refresh, to: host)
    host.fixture.advance(by: .seconds(1))
    let second = send(isFirst ? Self.refresh : Self.id, to: host)
    let (token, credentials) = isFirst ? (first, second) : (second, first)
    host.fixture.advance(by: .seconds(3))
    expect(try credentials.next().accessKeyID != nil)
    host.fixture.advance(by: .seconds(8))
    expect(try token.next()["Token"]?.text.flatMap(FakeProvider.number), equals: 2)
    expect(host.renewals, equals: ["refresh-1"])
  }

  @Test func whoWaitsForATokenWaitsNoLongerThanItsOwnTime() throws {
    let host = try host(.seconds(20))
    let token = send(#"{"op":"token","kind":"id","wait":8}"#, to: host)
    host.fixture.advance(by: .seconds(5))
    expect(token.hasReadAll)
    host.fixture.advance(by: .seconds(4))
    expect(try token.next().errorCode, equals: "Timeout")
    expect(host.renewals, equals: ["refresh-1"])
  }

  /// A password is another matter, too.
  @Test func aSignInIsNotHeldUpEither() throws {
    let host = try LinkedHost(
      Configured.linking(corp: "login_url = http://127.0.0.1/login", profile: "vend_tokens = id"))
    let login = #"{"op":"login","username":"alice","password":"alice-password"}"#
    expect(try host.ask(login).state, equals: "signedIn")
    try host.link()
    host.fixture.advance(by: .seconds(3600))
    host.provider.delay = .seconds(25)
    let token = send(Self.id, to: host)
    host.fixture.advance(by: .seconds(1))
    let client = send(login, to: host)
    host.fixture.advance(by: .seconds(3))
    expect(try client.next().state, equals: "signedIn")
    host.fixture.advance(by: .seconds(30))
    expect(try token.next()["Token"] != nil)
    expect(host.provider.misuses, equals: 0)
  }

  @Test func aLateRefusalEndsTheLinkAlone() throws {
    let host = try host(.zero)
    var refusal = FakeProvider.error("invalid_grant")
    refusal.time = .seconds(10)
    host.provider.faults["token"] = [refusal]
    let client = send(Self.refresh, to: host)
    host.fixture.advance(by: .seconds(4))
    expect(try client.next().accessKeyID != nil)
    host.fixture.advance(by: .seconds(10))
    let reply = try host.ask(Self.id)
    expect(reply.errorCode, equals: "SignInRequired", "\(reply)")
    expect(try host.ask().accessKeyID != nil)
    expect(host.renewals.isEmpty)
  }

  @Test func aProviderThatNeverAnswersIsAskedAgainLater() throws {
    let host = try host(.zero)
    host.provider.faults["token"] = [.silence, .silence]
    let client = send(Self.refresh, to: host)
    host.fixture.advance(by: .seconds(4))
    expect(try client.next().accessKeyID != nil)
    host.fixture.advance(by: .seconds(600))
    expect(try host.ask(Self.refresh).accessKeyID != nil)
    expect(host.linked.last??.hasPrefix("ey") == true)
  }

  /// It waited for a renewal that a clear had left behind.
  @Test func aProviderThatIsLeftHoldsUpNoCredentials() throws {
    let host = try host(.seconds(50))
    let client = send(Self.refresh, to: host)
    host.fixture.advance(by: .milliseconds(500))
    _ = try host.ask(#"{"op":"clear","what":"credentials"}"#)
    host.fixture.advance(by: .milliseconds(500))
    try host.fixture.reload(
      Configured.linking(provider: "ca_file = /etc/other.pem", profile: "vend_tokens = id"))
    host.fixture.advance(by: .seconds(4))
    expect(try client.next().accessKeyID != nil)
  }
}
