import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Upstream goes wrong in every way there is: a clear error, no loop, and all is well afterwards.
struct FaultTests {
  /// A fault that lasts, and what a client without credentials is told about it.
  struct Trouble: CustomTestStringConvertible {
    let operation: String
    let fault: FakeUpstreams.Fault
    let code: String
    let words: String

    var testDescription: String { "\(operation): \(words)" }
  }

  private static let portal = "<!DOCTYPE html><html>Sign in to the network</html>"

  private static func backend(
    _ code: String, _ words: String, _ fault: FakeUpstreams.Fault
  ) -> Trouble {
    Trouble(operation: "token", fault: fault, code: code, words: words)
  }

  private static func cognito(
    _ code: String, _ words: String, _ fault: FakeUpstreams.Fault
  ) -> Trouble {
    Trouble(operation: "GetCredentialsForIdentity", fault: fault, code: code, words: words)
  }

  private static let soon = [("Retry-After", "1")]
  private static let throttled = #"{"__type":"TooManyRequestsException"}"#
  private static let fault = #"{"__type":"InternalErrorException"}"#

  static let troubles: [Trouble] = [
    backend("Throttled", "asked too often", .status(429, headers: soon)),
    backend("BackendUnavailable", "not available", .status(503, headers: soon)),
    backend("BackendUnavailable", "has a fault", .status(500)),
    backend("BackendUnavailable", "broke the connection off", .failure(.reset)),
    backend("BackendUnavailable", "more than its limit", .failure(.tooLarge)),
    backend("BackendUnavailable", "did not answer in HTTP", .failure(.malformed)),
    backend("BackendUnavailable", "cannot be used", .status(200, "no JSON")),
    backend("BackendUnavailable", "IdentityId", .status(200, "{}")),
    backend("BackendUnavailable", "web page", .status(200, portal)),
    backend("BackendUnavailable", "redirect", .status(307, headers: [("Location", "/")])),
    backend("BackendUnavailable", "did not answer in time", .hang),
    cognito("Throttled", "asked too often", .status(400, throttled)),
    cognito("CognitoUnavailable", "has a fault", .status(500, fault)),
    cognito("CognitoUnavailable", "has a fault", .status(502)),
    cognito("CognitoUnavailable", "broke the connection off", .failure(.reset)),
    cognito("CognitoUnavailable", "more than its limit", .failure(.tooLarge)),
    cognito("CognitoUnavailable", "cannot be used", .status(200, "{}")),
    cognito("CognitoUnavailable", "web page", .status(200, portal)),
    cognito("CognitoUnavailable", "redirect", .status(302)),
  ]

  @Test(arguments: troubles)
  func `trouble is named, and passes`(_ trouble: Trouble) throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.faults[trouble.operation] = trouble.fault
    let refused = try fixture.ask(#"{"wait":3}"#)
    expect(refused.errorCode, equals: trouble.code, "\(refused)")
    expect(
      refused.errorMessage?.contains(trouble.words) == true, "\(refused)")
    expect(refused.accessKeyID == nil)
    // Some attempts, with one correction each at most.
    expect(fixture.host.http.requests.count <= 12)
    expect(try fixture.status()?["LastError"]?["Code"]?.text, equals: trouble.code)
    fixture.host.upstreams.faults = [:]
    fixture.advance(by: .seconds(15))
    expect(try fixture.ask(#"{"wait":2}"#).accessKeyID != nil)
    expect(try fixture.status()?["Failures"]?.integer, equals: 0)
    expect(fixture.service.sessionTable.degraded, equals: 0)
  }

  @Test func `a short fault is over before the client notices`() throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.faults["GetCredentialsForIdentity"] = .status(503, count: 1)
    expect(try fixture.ask(#"{"wait":30}"#).accessKeyID != nil)
    expect(fixture.host.upstreams.calls("GetCredentialsForIdentity"), equals: 2)
  }

  @Test(arguments: ["token", "GetCredentialsForIdentity"])
  func `Retry-After is kept`(_ operation: String) throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.faults[operation] = .status(
      429, Self.throttled, headers: [("Retry-After", "120")])
    let refused = try fixture.ask()
    expect(refused.errorCode, equals: "Throttled")
    let pause = try #require(refused["Error"]?["RetryAfter"]?.double)
    expect((110...120).contains(pause))
    let calls = fixture.host.http.requests.count
    // What the server asked for binds clients, too.
    for _ in 0..<11 {
      fixture.advance(by: .seconds(9))
      expect(try fixture.ask(#"{"wait":0}"#).errorCode, equals: "Throttled")
    }
    expect(fixture.host.http.requests.count, equals: calls)
    fixture.host.upstreams.faults = [:]
    fixture.advance(by: .seconds(120))
    expect(try fixture.ask(#"{"wait":30}"#).accessKeyID != nil)
  }

  @Test func `a client's deadline ends its wait for Cognito`() throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.faults["GetCredentialsForIdentity"] = .hang
    let start = fixture.now
    expect(try fixture.ask(#"{"wait":0.5}"#).errorCode, equals: "Timeout")
    expect(fixture.now - start < .milliseconds(501))
  }

  @Test func `credentials that are held serve while upstream fails`() throws {
    let fixture = try ServiceFixture()
    let credentials = try fixture.ask()
    fixture.advance(by: .seconds(60))
    fixture.host.upstreams.faults["GetCredentialsForIdentity"] = .status(500)
    fixture.host.upstreams.faults["token"] = .failure(.reset)
    let forced = try fixture.ask(#"{"refresh":true,"wait":2}"#)
    expect(forced.errorCode, equals: "BackendUnavailable")
    expect(try fixture.ask(), equals: credentials)
    let status = try fixture.status()
    expect(status?["State"]?.text, equals: "signedIn")
    expect(status?["LastError"]?["Code"]?.text, equals: "BackendUnavailable")
    expect(fixture.service.sessionTable.degraded, equals: 1)
    expect(fixture.service.summary.text.contains("1 degraded"))
    fixture.host.upstreams.faults = [:]
    fixture.advance(by: .seconds(15))
    let refreshed = try fixture.ask(#"{"refresh":true}"#)
    expect(refreshed.accessKeyID != nil && refreshed != credentials)
    expect(fixture.service.sessionTable.degraded, equals: 0)
  }

  @Test func `a changed identity is taken over`() throws {
    let fixture = try ServiceFixture()
    expect(try fixture.ask().accessKeyID != nil)
    let before = try fixture.ask(#"{"op":"identity"}"#)["IdentityId"]?.text
    fixture.host.upstreams.replaceIdentity(of: "alice")
    fixture.advance(by: .seconds(1000))
    expect(try fixture.ask(#"{"refresh":true}"#).accessKeyID != nil)
    let after = try fixture.ask(#"{"op":"identity"}"#)["IdentityId"]?.text
    expect(after != nil && after != before)
    expect(fixture.host.log.messages.contains("identity changed"))
  }
}
