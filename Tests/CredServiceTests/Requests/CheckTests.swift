import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// The operation `check`.
struct CheckTests {
  @Test func withoutASessionItAsksTheServersAndSignsNobodyIn() throws {
    let fixture = try ServiceFixture()
    let reply = try fixture.ask(#"{"op":"check"}"#)
    expect(reply.steps.map(\.name), equals: ["backend corp", "cognito-identity", "session"])
    expect(reply["Ok"]?.bool == true)
    expect(fixture.service.sessions.isEmpty)
    expect(fixture.host.upstreams.calls("token"), equals: 0)
  }

  @Test func aSessionIsRenewedStepByStep() throws {
    let fixture = try ServiceFixture()
    let first = try fixture.ask()
    fixture.advance(by: .seconds(120))
    let reply = try fixture.ask(#"{"op":"check"}"#)
    expect(
      reply.steps.map(\.name),
      equals: [
        "backend corp", "cognito-identity", "token", "GetCredentialsForIdentity", "credentials",
      ])
    expect(reply["Ok"]?.bool == true)
    expect(try fixture.ask().accessKeyID != first.accessKeyID)
    expect(
      !reply.text.contains("eyJ") && first.accessKeyID.map { !reply.text.contains($0) } == true)
  }

  @Test func aStepThatFailsIsNamed() throws {
    let fixture = try ServiceFixture()
    _ = try fixture.ask()
    fixture.advance(by: .seconds(120))
    fixture.host.upstreams.faults["token"] = .status(403, #"{"message":"private words"}"#)
    let reply = try fixture.ask(#"{"op":"check"}"#)
    expect(reply["Ok"]?.bool == false)
    let failed = reply.steps.first { $0.name == "token" }
    expect(failed?.isOK == false && failed?.detail.contains("private words") == false)
  }

  /// A `get` would wait for further tries.
  @Test func theFirstTryThatFailsEndsTheCheck() throws {
    let fixture = try ServiceFixture()
    _ = try fixture.ask()
    fixture.advance(by: .seconds(120))
    fixture.host.upstreams.faults["token"] = .status(503)
    let began = fixture.now
    let reply = try fixture.ask(#"{"op":"check"}"#)
    expect(fixture.host.upstreams.calls("token"), equals: 2)
    expect(fixture.now - began < .seconds(2), "\(fixture.now - began)")
    expect(reply.failedSteps, equals: ["token", "credentials"])
    expect(reply.steps.first { $0.name == "token" }?.detail.contains("tries") == false)
  }

  /// What failed before the check is tried once more.
  @Test func aFailureBeforeTheCheckDoesNotEndIt() throws {
    let fixture = try ServiceFixture()
    _ = try fixture.ask()
    fixture.advance(by: .seconds(120))
    fixture.host.upstreams.faults["token"] = .status(503)
    _ = try fixture.ask(#"{"refresh":true,"wait":0}"#)
    fixture.advance(by: .milliseconds(100))
    fixture.host.upstreams.faults["token"] = nil
    expect(try fixture.ask(#"{"op":"check"}"#)["Ok"]?.bool == true)
  }

  /// Whoever has mended it checks again.
  @Test func aCheckThatFailedHoldsTheNextUpForSeconds() throws {
    let fixture = try ServiceFixture()
    _ = try fixture.ask()
    fixture.advance(by: .seconds(120))
    fixture.host.upstreams.faults["token"] = .status(403)
    expect(try fixture.ask(#"{"op":"check"}"#)["Ok"]?.bool == false)
    fixture.host.upstreams.faults["token"] = nil
    expect(
      try fixture.ask(#"{"op":"check"}"#).errorMessage,
      equals: "this profile was checked less than 5 s ago")
    fixture.advance(by: .seconds(5))
    expect(try fixture.ask(#"{"op":"check"}"#)["Ok"]?.bool == true)
    fixture.advance(by: .seconds(5))
    expect(
      try fixture.ask(#"{"op":"check"}"#).errorMessage,
      equals: "this profile was checked less than a minute ago")
  }

  @Test func aSignInEndsThePauseOfItsProfile() throws {
    let fixture = try ServiceFixture(
      Configured.password() + Configured.profile("other", identifier: "{user}"))
    let login = #"{"op":"login","username":"alice","password":"alice-password"}"#
    expect(try fixture.ask(login).state, equals: "signedIn")
    fixture.advance(by: .seconds(120))
    expect(try fixture.ask(#"{"op":"check"}"#)["Ok"]?.bool == true)
    fixture.advance(by: .seconds(10))
    expect(try fixture.ask(#"{"op":"check"}"#).errorCode, equals: "TooManyRequests")
    expect(try fixture.ask(login).state, equals: "signedIn")
    expect(try fixture.ask(#"{"op":"check"}"#)["Ok"] != nil)
  }

  /// The first token is refused, and a second one brings credentials.
  @Test func aStepThatSucceedsInTheEndIsToldOnce() throws {
    let fixture = try ServiceFixture()
    _ = try fixture.ask()
    fixture.advance(by: .seconds(120))
    fixture.host.upstreams.faults["GetCredentialsForIdentity"] = .status(
      400, #"{"__type":"NotAuthorizedException","message":"Token expired"}"#, count: 1)
    let reply = try fixture.ask(#"{"op":"check"}"#)
    expect(reply["Ok"]?.bool == true, "\(reply)")
    expect(
      reply.steps.suffix(3).map { [$0.name, $0.detail] }.dropLast(),
      equals: [
        ["token", "answered; 2 tries"], ["GetCredentialsForIdentity", "answered; 2 tries"],
      ])
  }

  @Test func aSignInThatIsNoLongerAcceptedIsAStepThatFails() throws {
    let fixture = try ServiceFixture(Configured.password())
    let login = #"{"op":"login","username":"alice","password":"alice-password"}"#
    expect(try fixture.ask(login).state, equals: "signedIn")
    fixture.host.upstreams.faults["token"] = .status(401)
    fixture.advance(by: .seconds(2))
    _ = try fixture.ask(#"{"refresh":true,"wait":0}"#)
    fixture.advance(by: .seconds(2))
    let reply = try fixture.ask(#"{"op":"check"}"#)
    expect(reply["Ok"]?.bool == false)
    expect(reply.steps.last?.detail.hasSuffix("sign in with 'credctl login default'") == true)
  }

  /// credctl ends with the status of a `get` then.
  @Test func aRenewalThatWantsASignInFailsInTheStepSession() throws {
    let fixture = try ServiceFixture(Configured.password())
    _ = try fixture.ask(#"{"op":"login","username":"alice","password":"alice-password"}"#)
    fixture.advance(by: .seconds(120))
    fixture.host.upstreams.faults["token"] = .status(401)
    expect(try fixture.ask(#"{"op":"check"}"#).failedSteps, equals: ["token", "session"])
  }

  // MARK: Who may see what

  @Test func whatServersSaidIsForAdministrators() throws {
    let fixture = try ServiceFixture()
    _ = try fixture.ask(uid: 0)
    fixture.advance(by: .seconds(120))
    fixture.host.upstreams.faults["token"] = .status(403, #"{"message":"private words"}"#)
    let reply = try fixture.ask(#"{"op":"check"}"#, uid: 0)
    expect(reply.steps.contains { $0.name == "token" && $0.detail.contains("private words") })
  }

  /// Whoever mends something looks at once whether it helped.
  @Test func neitherRootNorAReloadWaitsForAMinute() throws {
    let fixture = try ServiceFixture()
    for _ in 0..<3 { expect(try fixture.ask(#"{"op":"check"}"#, uid: 0)["Ok"] != nil) }
    expect(try fixture.ask(#"{"op":"check"}"#)["Ok"] != nil)
    expect(try fixture.ask(#"{"op":"check"}"#).errorCode, equals: "TooManyRequests")
    try fixture.reload(Configured.usual())
    expect(try fixture.ask(#"{"op":"check"}"#)["Ok"] != nil)
    expect(try fixture.ask(#"{"op":"check"}"#).errorCode, equals: "TooManyRequests")
  }

  /// One at a time is for everybody.
  @Test func aSecondCheckWaitsForTheFirst() throws {
    let fixture = try ServiceFixture()
    fixture.host.http.holds = true
    let client = fixture.connect(uid: 0)
    client.send(#"{"op":"check"}"#)
    try fixture.reload(Configured.usual())
    expect(
      try fixture.ask(#"{"op":"check"}"#, uid: 0).errorMessage,
      equals: "a check of this profile is under way")
  }

  @Test func itIsOneAtATimeAndOneAMinute() throws {
    let fixture = try ServiceFixture()
    expect(try fixture.ask(#"{"op":"check"}"#)["Ok"] != nil)
    let refused = try fixture.ask(#"{"op":"check"}"#)
    expect(refused.errorCode, equals: "TooManyRequests")
    // Another user's own is not held up.
    expect(try fixture.ask(#"{"op":"check"}"#, uid: 1001)["Ok"] != nil)
    fixture.advance(by: .seconds(61))
    expect(try fixture.ask(#"{"op":"check"}"#)["Ok"] != nil)
  }

  /// Its renewal ends while access is decided anew: what it has found need not be so any more.
  @Test func aCheckThatMeetsAReloadIsMadeAnew() throws {
    let fixture = try ServiceFixture()
    _ = try fixture.ask()
    fixture.advance(by: .seconds(120))
    fixture.host.queries.setGroups([8], of: 1000)
    fixture.host.upstreams.delays["token"] = .milliseconds(500)
    let client = fixture.connect(groups: [8])
    client.send(#"{"op":"check"}"#)
    expect(fixture.service.sessions.values.first?.asking.checks.count, equals: 1)
    fixture.host.background.time[.users] = .seconds(1)
    try fixture.reload(Configured.usual(profile: "allow_groups = mail"))
    fixture.advance(by: .milliseconds(900))
    expect(client.isWaiting && fixture.service.sessions.values.first?.asking.checks.isEmpty == true)
    fixture.advance(by: .seconds(5))
    let reply = try client.next()
    expect(reply["Ok"]?.bool == true, "\(reply)")
    expect(reply.steps.map(\.name).filter { $0 == "backend corp" }.count, equals: 1)
    expect(try client.ask(#"{"op":"check"}"#).errorCode, equals: "TooManyRequests")
  }

  @Test func allProfilesAreForAdministrators() throws {
    let fixture = try ServiceFixture(Configured.usual() + Configured.profile("work"))
    expect(try fixture.ask(#"{"op":"check","all":true}"#).errorCode, equals: "AccessDenied")
    _ = try fixture.ask(uid: 0)
    let calls = fixture.host.upstreams.calls("token")
    let reply = try fixture.ask(#"{"op":"check","all":true}"#, uid: 0)
    // Each server once, and nothing is renewed.
    expect(reply.steps.map(\.name), equals: ["backend corp", "cognito-identity"])
    expect(fixture.host.upstreams.calls("token"), equals: calls)
    expect(
      try fixture.ask(#"{"op":"check","all":true,"profile":"work"}"#, uid: 0).errorCode,
      equals: "InvalidRequest")
  }

  /// Each server answers, and nobody gets credentials.
  @Test func aProfileWhoseRequestsFailIsNoGoodOne() throws {
    let fixture = try ServiceFixture(Configured.usual() + Configured.profile("work"))
    for uid in [1000, 1001] as [UInt32] { _ = try fixture.ask(#"{"profile":"work"}"#, uid: uid) }
    _ = try fixture.ask()
    fixture.host.upstreams.faults["token"] = .status(401, #"{"Code":"HostNotAuthorized"}"#)
    for uid in [1001, 1002] as [UInt32] {
      _ = try fixture.ask(#"{"profile":"work","refresh":true,"wait":1}"#, uid: uid)
    }
    let reply = try fixture.ask(#"{"op":"check","all":true}"#, uid: 0)
    expect(reply["Ok"]?.bool == false)
    expect(reply.failedSteps, equals: ["requests in 'work'"])
    let detail = reply.steps.first { !$0.isOK }?.detail ?? ""
    expect(detail.hasPrefix("the last request of 2 of 3 users failed, at 2023-11-14T"), "\(detail)")
    expect(detail.contains("does not accept this host"))
  }

  @Test func whatUsersThemselvesMustMendIsNoFaultOfAProfile() throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.faults["token"] = .status(403)
    expect(try fixture.ask(#"{"wait":1}"#).errorCode, equals: "BackendRejected")
    expect(try fixture.ask(#"{"op":"check","all":true}"#, uid: 0)["Ok"]?.bool == true)
  }

  /// Cognito verifies ID tokens by the provider's keys, and credd asks its token endpoint.
  @Test func aProvidersDocumentKeysAndTokenEndpointAreAsked() throws {
    let fixture = try ServiceFixture(Configured.provider())
    let provider = FakeProvider(fixture)
    let names = ["backend okta", "backend okta keys", "backend okta token endpoint"]
    let good = try fixture.ask(#"{"op":"check"}"#)
    expect(good.steps.map(\.name), equals: names + ["cognito-identity", "session"])
    // Only somebody who signs in is missing.
    expect(good.failedSteps, equals: ["session"], "\(good.text)")
    fixture.advance(by: .seconds(61))
    provider.faults["keys"] = [.reply(200, #"{"keys":[]}"#)]
    let keyless = try fixture.ask(#"{"op":"check"}"#)
    expect(keyless.failedSteps, equals: ["backend okta keys", "session"])
    expect(keyless.steps[1].detail.contains("jwks_uri"))
    fixture.advance(by: .seconds(61))
    provider.faults["openid-configuration"] = [.reply(200, #"{"issuer":"https://other.example/"}"#)]
    let foreign = try fixture.ask(#"{"op":"check"}"#)
    expect(foreign.steps.map(\.name), equals: ["backend okta", "cognito-identity", "session"])
    expect(foreign.steps.first?.isOK == false)
  }

  @Test func aLinkedProviderIsAskedToo() throws {
    let fixture = try ServiceFixture(Configured.linking())
    _ = FakeProvider(fixture)
    let reply = try fixture.ask(#"{"op":"check"}"#)
    expect(reply.steps.map(\.name).prefix(2), equals: ["backend corp", "backend okta"])
  }

  @Test func aProfileOfOthersIsNotChecked() throws {
    let fixture = try ServiceFixture(Configured.usual(profile: "allow_users = bob"))
    expect(try fixture.ask(#"{"op":"check"}"#).errorCode, equals: "AccessDenied")
    expect(fixture.host.http.requests.isEmpty)
  }

  @Test func aClientThatLeavesEndsItsCheck() throws {
    let fixture = try ServiceFixture()
    _ = try fixture.ask()
    fixture.advance(by: .seconds(120))
    fixture.host.upstreams.delays["token"] = .seconds(2)
    let client = fixture.connect()
    client.sendOnly(#"{"op":"check"}"#)
    client.leave()
    fixture.advance(by: .seconds(61))
    expect(try fixture.ask(#"{"op":"check"}"#)["Ok"]?.bool == true)
  }
}

extension Reply {
  typealias Step = (name: String, isOK: Bool, detail: String)

  /// The steps of a `check`.
  var steps: [Step] {
    guard case .array(let steps) = self["Steps"] else { return [] }
    return steps.map {
      ($0["Name"]?.text ?? "", $0["Ok"]?.bool ?? false, $0["Detail"]?.text ?? "")
    }
  }

  var failedSteps: [String] { steps.filter { !$0.isOK }.map(\.name) }
}
