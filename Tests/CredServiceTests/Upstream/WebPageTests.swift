import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Web pages in place of a backend's JSON, in virtual time.
struct WebPageTests {
  private static let page = "<!DOCTYPE html><html><h1>Blocked by the gateway</h1></html>"
  private static let login = #"{"op":"login","username":"alice","password":"alice-password"}"#
  private static let renew = #"{"refresh":true,"wait":2}"#
  private static let configuration = Configured.password(
    backend: "register_url = http://127.0.0.1/register")

  private func signedIn(_ text: String = configuration) throws -> ServiceFixture {
    let fixture = try ServiceFixture(text)
    expect(try fixture.ask(Self.login).state, equals: "signedIn")
    fixture.advance(by: .seconds(60))
    return fixture
  }

  private func state(_ fixture: ServiceFixture) throws -> String? {
    try fixture.ask(#"{"op":"identity"}"#).state
  }

  @Test(arguments: [200, 400, 401, 403, 404, 409])
  func aGatewaysPageSignsNobodyOut(_ status: Int) throws {
    let fixture = try signedIn()
    fixture.host.upstreams.faults["token"] = .status(status, Self.page)
    let refused = try fixture.ask(Self.renew)
    expect(refused.errorCode, equals: "BackendUnavailable", "\(refused)")
    expect(refused["Error"]?["Kind"]?.text, equals: "temporary")
    expect(refused.errorMessage?.contains("gateway</h1>") == false)
    expect(try state(fixture), equals: "signedIn")
    expect(try fixture.ask().accessKeyID != nil)
    fixture.host.upstreams.faults = [:]
    fixture.advance(by: .seconds(15))
    expect(try fixture.ask(Self.renew).accessKeyID != nil)
  }

  @Test func anUnauthorizedPageThatComesAgainAfterAMinuteEndsTheSignIn() throws {
    let fixture = try signedIn()
    fixture.host.upstreams.faults["token"] = .status(401, Self.page)
    for _ in 0..<3 {
      expect(try fixture.ask(Self.renew).errorCode, equals: "BackendUnavailable")
      fixture.advance(by: .seconds(15))
    }
    fixture.advance(by: .seconds(30))
    expect(try fixture.ask(Self.renew).errorCode, equals: "SignInRequired")
    expect(try state(fixture), equals: "tokensInvalid")
    // The next sign-in is another one, which the former page says nothing about.
    fixture.host.upstreams.faults = [:]
    expect(try fixture.ask(Self.login).state, equals: "signedIn")
    fixture.advance(by: .seconds(60))
    fixture.host.upstreams.faults["token"] = .status(401, Self.page)
    expect(try fixture.ask(Self.renew).errorCode, equals: "BackendUnavailable")
  }

  @Test func anotherAnswerInBetweenBeginsTheMinuteAnew() throws {
    let fixture = try signedIn()
    for (page, other) in [(0, 503), (1, 403)] {
      fixture.host.upstreams.faults["token"] = .status(401, Self.page)
      fixture.advance(by: .seconds(15))
      expect(try fixture.ask(Self.renew).errorCode, equals: "BackendUnavailable", "\(page)")
      fixture.host.upstreams.faults["token"] = .status(other)
      fixture.advance(by: .seconds(400))
      expect(try fixture.ask(Self.renew).errorCode != nil)
    }
    fixture.host.upstreams.faults["token"] = .status(401, Self.page)
    fixture.advance(by: .seconds(15))
    expect(try fixture.ask(Self.renew).errorCode, equals: "BackendUnavailable")
    expect(try state(fixture), equals: "signedIn")
  }

  @Test func aGatewaysPageIsNoWrongPassword() throws {
    let fixture = try ServiceFixture(Self.configuration)
    for status in [400, 403, 404, 422] {
      fixture.host.upstreams.faults["login"] = .status(status, Self.page)
      expect(try fixture.ask(Self.login).errorCode, equals: "BackendUnavailable", "\(status)")
      fixture.advance(by: .seconds(600))
    }
    expect(try state(fixture), equals: "signedOut")
  }

  /// Who guesses sees a right password all the same. A form may come again with 200.
  @Test(arguments: [200, 302, 400, 401, 403, 404, 422])
  func aPageInPlaceOfARefusalCountsAsAWrongPassword(_ status: Int) throws {
    let fixture = try ServiceFixture(Self.configuration)
    fixture.host.upstreams.faults["login"] = .status(status, Self.page)
    for _ in 0..<3 {
      expect(try fixture.ask(Self.login).errorCode, equals: "BackendUnavailable")
      // A logout forgets the page, not the guess.
      _ = try fixture.ask(#"{"op":"logout"}"#)
    }
    expect(try fixture.ask(Self.login).errorCode, equals: "TooManyRequests")
  }

  @Test func aServersOwnTroubleIsNoWrongPassword() throws {
    let fixture = try ServiceFixture(Self.configuration)
    fixture.host.upstreams.faults["login"] = .status(502, Self.page)
    for _ in 0..<6 {
      expect(try fixture.ask(Self.login).errorCode, equals: "BackendUnavailable")
    }
  }

  /// Two users whom a plain framework does not know.
  @Test(arguments: [400, 403, 404, 409])
  func pagesAboutOneUserAreNoOutage(_ status: Int) throws {
    let fixture = try ServiceFixture()
    expect(try fixture.ask().accessKeyID != nil)
    fixture.host.upstreams.faults["token"] = .status(status, Self.page)
    for _ in 0..<6 {
      for uid in UInt32(1001)...1002 { _ = try fixture.ask(#"{"wait":1}"#, uid: uid) }
      fixture.advance(by: .seconds(20))
    }
    let calls = fixture.host.upstreams.calls("token")
    _ = try fixture.ask(#"{"wait":1,"refresh":true}"#)
    expect(fixture.host.upstreams.calls("token") > calls)
    expect(!fixture.host.log.messages.contains { $0.contains("does not work") })
  }

  @Test func aPageOfLongAgoCountsNoMore() throws {
    let fixture = try signedIn()
    fixture.host.upstreams.faults["token"] = .status(401, Self.page)
    expect(try fixture.ask(Self.renew).errorCode, equals: "BackendUnavailable")
    fixture.host.upstreams.faults = [:]
    // Nobody asks for a day.
    fixture.advance(by: .seconds(86_400))
    fixture.host.upstreams.faults["token"] = .status(401, Self.page)
    expect(try fixture.ask(Self.renew).errorCode, equals: "BackendUnavailable")
    expect(try state(fixture), equals: "signedIn")
  }

  @Test func aFrameworksPageIsAWrongPasswordWhenItComesAgain() throws {
    let fixture = try ServiceFixture(Self.configuration)
    fixture.host.upstreams.faults["login"] = .status(401, Self.page)
    expect(try fixture.ask(Self.login).errorCode, equals: "BackendUnavailable")
    fixture.advance(by: .seconds(30))
    expect(try fixture.ask(Self.login).errorCode, equals: "BackendUnavailable")
    fixture.advance(by: .seconds(31))
    expect(try fixture.ask(Self.login).errorCode, equals: "SignInFailed")
    fixture.host.upstreams.faults = [:]
    fixture.advance(by: .seconds(600))
    expect(try fixture.ask(Self.login).state, equals: "signedIn")
  }

  @Test(arguments: [401, 404, 410])
  func aGatewaysPageEndsNoSessionAtTheBackend(_ status: Int) throws {
    let fixture = try signedIn()
    fixture.host.upstreams.faults["logout"] = .status(status, Self.page)
    let reply = try fixture.ask(#"{"op":"logout","global":true}"#)
    expect(reply.errorCode, equals: "BackendUnavailable", "\(reply)")
    expect(try state(fixture), equals: "signedOut")
  }

  @Test(arguments: [401, 403, 404, 409])
  func aGatewaysPageRefusesNoAccount(_ status: Int) throws {
    let fixture = try ServiceFixture(Self.configuration)
    fixture.host.upstreams.faults["register"] = .status(status, Self.page)
    let line =
      #"{"op":"account","action":"sign-up","username":"carol","password":"hush-hush"}"#
    let reply = try fixture.ask(line)
    expect(reply.errorCode, equals: "BackendUnavailable", "\(reply)")
  }
}
