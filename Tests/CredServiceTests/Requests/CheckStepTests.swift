import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// What `check` says of servers, of regions, and of sessions that it does not renew.
struct CheckStepTests {
  // MARK: Without a renewal

  @Test func aProfileThatSignsInByItselfIsRightBeforeItsFirstUse() throws {
    let fixture = try ServiceFixture()
    let reply = try fixture.ask(#"{"op":"check"}"#)
    expect(
      reply.steps.last?.detail,
      equals: "not used yet, so nothing was renewed: 'credctl get default' asks for credentials")
    expect(reply["Ok"]?.bool == true)
  }

  @Test func aProfileForDerivedOnesAloneIsNotAskedForCredentials() throws {
    let fixture = try ServiceFixture(
      Configured.http() + Configured.profile("work", "vend_credentials = no")
        + Configured.derived("maps", "role_arn = arn:aws:iam::210987654321:role/reader"))
    let reply = try fixture.ask(#"{"op":"check","profile":"work"}"#)
    expect(reply.steps.last?.detail, equals: "not used yet, so nothing was renewed")
  }

  @Test func aProfileInWhichNobodyIsSignedInFails() throws {
    let fixture = try ServiceFixture(Configured.password())
    let reply = try fixture.ask(#"{"op":"check"}"#)
    expect(reply.failedSteps, equals: ["session"])
    expect(
      reply.steps.last?.detail,
      equals: "nobody is signed in: sign in with 'credctl login default'")
  }

  @Test func aProfileFromWhichTheUserSignedOutFails() throws {
    let fixture = try ServiceFixture()
    _ = try fixture.ask()
    _ = try fixture.ask(#"{"op":"logout"}"#)
    expect(try fixture.ask(#"{"op":"check"}"#).failedSteps, equals: ["session"])
  }

  /// Such a session holds nothing that could be renewed.
  @Test(arguments: [
    (401, #"{"Code":"HostNotAuthorized","Message":"who is this?"}"#, "last request"),
    (403, #"{"message":"not you"}"#, "session"),
  ])
  func aFirstRequestThatFailedIsAStep(_ status: Int, _ body: String, _ name: String) throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.faults["token"] = .status(status, body)
    let error = try #require(try fixture.ask().errorMessage)
    fixture.advance(by: .seconds(5))
    let calls = fixture.host.upstreams.calls("token")
    let reply = try fixture.ask(#"{"op":"check"}"#)
    expect(reply.failedSteps, equals: [name], "\(reply)")
    let detail = reply.steps.last?.detail ?? ""
    expect(detail.hasPrefix("at 20") && detail.contains(error), "\(detail)")
    expect(detail.hasSuffix("; to try again: 'credctl get default'"), "\(detail)")
    expect(!detail.contains("POST ") && fixture.host.upstreams.calls("token") == calls)
    // An administrator sees the request.
    _ = try fixture.ask(uid: 0)
    let full = try fixture.ask(#"{"op":"check"}"#, uid: 0)
    expect(full.steps.last?.detail.contains("POST http://127.0.0.1/token") == true, "\(full)")
    fixture.host.upstreams.faults["token"] = nil
    fixture.advance(by: .seconds(61))
    expect(try fixture.ask().accessKeyID != nil)
    expect(try fixture.ask(#"{"op":"check"}"#)["Ok"]?.bool == true)
  }

  /// Root has no session of its own in a profile in which the users' sessions fail.
  @Test func anAdministratorIsToldOfTheFailureOfOthersThatIsNotAboutThem() throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.faults["token"] = .status(403, #"{"message":"not you"}"#)
    _ = try fixture.ask()
    expect(try fixture.ask(#"{"op":"check"}"#, uid: 0)["Ok"]?.bool == true)
    fixture.host.upstreams.faults["token"] = .status(
      401, #"{"Code":"HostNotAuthorized","Message":"who is this?"}"#)
    _ = try fixture.ask(uid: 1001)
    let reply = try fixture.ask(#"{"op":"check"}"#, uid: 0)
    expect(reply.failedSteps, equals: ["last request"])
    expect(reply.steps.last?.detail.contains("Z for another user: backend 'corp' does") == true)
    // Other users are not.
    expect(try fixture.ask(#"{"op":"check"}"#, uid: 1002)["Ok"]?.bool == true)
  }

  // MARK: Servers

  @Test func aServerThatAnswersIsReachableAndNoMore() throws {
    let fixture = try ServiceFixture()
    let good = try fixture.ask(#"{"op":"check"}"#)
    expect(
      good.steps.prefix(2).map(\.detail),
      equals: ["reachable (its path is not tried)", "reachable"])
    let answer = fixture.host.http.answer
    fixture.host.http.answer = { $0.method == .get ? .reply(503, "") : answer($0) }
    let faulty = try fixture.ask(#"{"op":"check"}"#, uid: 1001)
    expect(
      faulty.steps.prefix(2).map(\.detail),
      equals: [
        "reachable, with status 503 (its path is not tried)", "reachable, with status 503",
      ])
  }

  @Test(arguments: [(299, true), (-300, true), (301, false), (-1199, false)])
  func aClockThatIsFarOffFails(_ seconds: Int, _ isOK: Bool) throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.dateSkew = .seconds(seconds)
    let reply = try fixture.ask(#"{"op":"check"}"#)
    expect(reply.failedSteps, equals: isOK ? [] : ["backend corp", "cognito-identity"])
    expect(
      reply.steps[1].detail,
      equals: "reachable; its clock differs by \(seconds) s: set the time")
  }

  /// AWS adds regions, and the list is that of one day.
  @Test(arguments: [
    ("us-esat-1", false, false, ": did you mean us-east-1?"),
    ("us-west-3", true, true, ": did you mean us-west-1?"),
    ("moon-base-1", false, true, ""),
  ])
  func aRegionThatIsNotKnownIsAStep(
    _ region: String, _ answers: Bool, _ isOK: Bool, _ advice: String
  ) throws {
    let fixture = try ServiceFixture(
      Configured.usual().replacing("us-east-1:", with: "\(region):")
        .replacing("cognito_endpoint = http://127.0.0.1:4599", with: ""))
    let answer = fixture.host.http.answer
    fixture.host.http.answer = {
      $0.url.contains(region) && !answers ? .failure(.nameResolution) : answer($0)
    }
    let step = try fixture.ask(#"{"op":"check"}"#).steps.first { $0.name == "region" }
    expect(step?.isOK, equals: isOK)
    expect(
      step?.detail,
      equals: "\(region) (identity_pool_id) is no region of AWS that credd knows of\(advice)")
  }

  /// A server that was not asked says nothing about its name.
  @Test(arguments: [true, false])
  func aRegionWhoseServersWereNotAskedIsNotWrong(_ isAsked: Bool) throws {
    let fixture = try ServiceFixture(
      Configured.usual().replacing("us-east-1:", with: "us-esat-1:"))
    let profile = try #require(fixture.service.configuration.profiles["default"])
    let failure =
      isAsked
      ? UpstreamFailure(
        upstream: .cognitoIdentity, failureClass: .transient(retryAfter: nil),
        code: .cognitoUnavailable, message: "no such host", severity: .expected)
      : UpstreamFailure.notAsked(.cognitoIdentity)
    let outcome = ProbeOutcome(
      name: "cognito-identity", url: "https://cognito-identity.us-esat-1.amazonaws.com/",
      isOfAWS: true,
      trial: .server, duration: .zero, result: .failure(failure))
    expect(CheckStep.regions(of: [profile], [outcome]).map(\.isOK), equals: [!isAsked])
  }
}
