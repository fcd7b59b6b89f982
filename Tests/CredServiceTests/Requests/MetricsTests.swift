import CredCore
import Foundation
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// What the service counts, and who may read it.
struct MetricsTests {
  private func lines(_ reply: Reply) throws -> Set<String> {
    let text = try #require(reply["Metrics"]?.text, "\(reply)")
    return Set(text.split(separator: "\n").map(String.init))
  }

  @Test func requestsAreCountedWhetherCachedOrNot() throws {
    let fixture = try ServiceFixture()
    let client = fixture.connect()
    for _ in 1...5 { _ = try client.ask("{}") }
    _ = try fixture.ask("[]")
    let http = EndpointClient(fixture)
    for _ in 1...3 { _ = try http.ask(try EndpointLock.token(.user(1000))) }
    _ = try http.ask(nil)
    let found = try lines(fixture.ask(#"{"op":"metrics"}"#, uid: 0))
    expect(found.contains(#"credd_requests_total{op="get",transport="socket",code="ok"} 5"#))
    expect(
      found.contains(
        #"credd_requests_total{op="invalid",transport="socket",code="InvalidRequest"} 1"#))
    expect(found.contains(#"credd_requests_total{op="get",transport="http",code="ok"} 3"#))
    expect(found.contains(#"credd_requests_total{op="get",transport="http",code="token"} 1"#))
  }

  @Test func sessionsRefreshesAndCallsAreCounted() throws {
    let fixture = try ServiceFixture()
    _ = try fixture.ask()
    fixture.host.upstreams.faults["GetCredentialsForIdentity"] = .status(500)
    _ = try fixture.ask(uid: 1001)
    let found = try lines(fixture.ask(#"{"op":"metrics"}"#, uid: 0))
    expect(found.contains(#"credd_sessions{profile="default",state="signedIn"} 2"#))
    expect(found.contains(#"credd_sessions{profile="default",state="guest"} 0"#))
    expect(found.contains(#"credd_refreshes_total{profile="default",result="ok"} 1"#))
    expect(
      found.contains(
        #"credd_upstream_requests_total{upstream="corp",operation="token",result="ok"} 2"#))
    expect(found.contains(#"credd_upstream_up{upstream="cognito"} 0"#))
    expect(found.contains(#"credd_build_info{version="\#(Version.current)"} 1"#))
    expect(found.contains("credd_configuration_valid 1"))
  }

  @Test func onlyThoseWhoAreNamedReadThem() throws {
    let fixture = try ServiceFixture(
      Configured.usual(daemon: "admin_group = adm\nmetrics_users = bob"))
    fixture.host.queries.setGroups([4], of: 1002)
    expect(try fixture.ask(#"{"op":"metrics"}"#).errorCode, equals: "AccessDenied")
    expect(try fixture.ask(#"{"op":"metrics"}"#, uid: 1001)["Metrics"] != nil)
    let member = fixture.connect(uid: 1002, groups: [1002, 4])
    expect(try member.ask(#"{"op":"metrics"}"#)["Metrics"] != nil)
  }

  @Test func noUserIsNamedInThem() throws {
    let fixture = try ServiceFixture()
    _ = try fixture.ask()
    let reply = try fixture.ask(#"{"op":"metrics"}"#, uid: 0)
    expect(!reply.text.contains("alice"))
  }

  private func metrics(_ fixture: ServiceFixture) throws -> Set<String> {
    try lines(fixture.ask(#"{"op":"metrics"}"#, uid: 0))
  }

  private static func requests(
    _ upstream: String, _ operation: String, _ result: String = "ok", _ count: Int = 1
  ) -> String {
    #"credd_upstream_requests_total{upstream="\#(upstream)",operation="\#(operation)","#
      + #"result="\#(result)"} \#(count)"#
  }

  // MARK: User pools and providers

  @Test func theStepsOfASignInAtAUserPoolAreCounted() throws {
    let fixture = try ServiceFixture(Configured.scriptedPool())
    let now = fixture.host.clock.wallTime
    let pool = ScriptedPool(
      fixture, [ScriptedPool.verifier, ScriptedPool.sms, ScriptedPool.tokens(at: now)])
    let asked = try fixture.ask(#"{"op":"login","username":"alice","password":"pass-word"}"#)
    expect(try fixture.ask(asked.response("code", "\"123456\"")).state, equals: "signedIn")
    var found = try metrics(fixture)
    expect(found.contains(Self.requests("staff", "login")))
    expect(found.contains(Self.requests("staff", "respond", "ok", 2)))
    expect(found.contains(#"credd_upstream_up{upstream="staff"} 1"#))
    expect(
      found.contains(
        #"credd_sign_ins_total{profile="default",means="userPool",result="ok"} 1"#))
    // A pool that is away is down; a wrong password says nothing of it.
    pool.answers = [.reply(500, "")]
    _ = try fixture.ask(#"{"op":"login","username":"alice","password":"pass-word"}"#)
    expect(try metrics(fixture).contains(#"credd_upstream_up{upstream="staff"} 0"#))
    pool.answers = [
      ScriptedPool.verifier,
      ScriptedPool.error("NotAuthorizedException", "Incorrect username or password."),
    ]
    fixture.advance(by: .seconds(60))
    _ = try fixture.ask(#"{"op":"login","username":"alice","password":"pass-word"}"#)
    found = try metrics(fixture)
    expect(found.contains(#"credd_upstream_up{upstream="staff"} 1"#))
    expect(found.contains(Self.requests("staff", "respond", "SignInFailed")))
  }

  @Test func accountActionsAndRevocationAreCounted() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    pool.faults["GetUser"] = [
      .reply(200, #"{"Username":"alice","UserAttributes":[]}"#), .failure(.connect),
    ]
    _ = try fixture.ask(#"{"op":"account","action":"get"}"#)
    expect(try metrics(fixture).contains(Self.requests("staff", "get")))
    _ = try fixture.ask(#"{"op":"account","action":"get"}"#)
    expect(try metrics(fixture).contains(#"credd_upstream_up{upstream="staff"} 0"#))
    _ = try fixture.ask(#"{"op":"logout"}"#)
    fixture.host.settle()
    let found = try metrics(fixture)
    expect(found.contains(Self.requests("staff", "revoke")))
    expect(found.contains(#"credd_upstream_up{upstream="staff"} 1"#))
    expect(
      found.contains(
        #"credd_upstream_request_duration_seconds_count{upstream="staff",operation="revoke"} 1"#))
  }

  @Test func theStepsOfASignInAtAProviderAreCounted() throws {
    let fixture = try ServiceFixture(Configured.provider())
    let provider = FakeProvider(fixture)
    let login = #"{"op":"login","browser":{"redirect_uri":"http://127.0.0.1:4711/okta"}}"#
    provider.faults["openid-configuration"] = [.reply(503, "")]
    _ = try fixture.ask(login)
    var found = try metrics(fixture)
    expect(found.contains(Self.requests("okta", "discovery", "BackendUnavailable")))
    expect(found.contains(#"credd_upstream_up{upstream="okta"} 0"#))
    fixture.advance(by: .seconds(60))
    let asked = try fixture.ask(login)
    let reply = try fixture.ask(
      asked.response("response", "\"\(provider.browse(asked))\""))
    expect(reply.state, equals: "signedIn")
    _ = try fixture.ask(#"{"op":"logout"}"#)
    fixture.host.settle()
    let typed = try fixture.ask(#"{"op":"login","device":true}"#)
    provider.faults["token"] = [.reply(500, "")]
    expect(try fixture.ask(typed.waiting(60)).state, equals: "signedIn")
    found = try metrics(fixture)
    for operation in ["discovery", "code", "device", "revoke", "device_poll"] {
      expect(found.contains(Self.requests("okta", operation)), "\(operation)")
    }
    // A question for a device code that the provider answers by 500 is asked again.
    expect(found.contains(Self.requests("okta", "device_poll", "BackendUnavailable")))
    expect(found.contains(#"credd_upstream_up{upstream="okta"} 1"#))
    for means in ["browser", "device"] {
      expect(
        found.contains(
          #"credd_sign_ins_total{profile="default",means="\#(means)",result="ok"} 1"#))
    }
  }

  // MARK: Labels

  @Test func aRequestWithAMistakeIsCountedByItsOperation() throws {
    let fixture = try ServiceFixture()
    _ = try fixture.ask(#"{"op":"respond","handle":"no handle","answers":{"code":"1"}}"#)
    expect(
      try metrics(fixture).contains(
        #"credd_requests_total{op="respond",transport="socket",code="UnknownChallenge"} 1"#))
  }

  @Test func eachOwnValueOfALabelHasOneSpellingAndIsDocumented() throws {
    let page = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../docs/metrics.md")
    let text = try String(contentsOf: page, encoding: .utf8)
    let values =
      HitLimit.allCases.map(\.rawValue) + AttestationFailure.allCases.map(\.rawValue)
      + EndpointRefusal.allCases.map(\.rawValue)
    for value in values {
      expect(value.wholeMatch(of: #/[a-z]+(_[a-z]+)*/#) != nil, "\(value)")
      expect(text.contains("`\(value)`"), "\(value)")
    }
    for action in AccountAction.allCases.map(\.rawValue) { expect(text.contains("`\(action)`")) }
  }
}
