import TestSupport
import Testing

@testable import CredCore

/// What each answer of a provider means, by what was asked.
struct OIDCFailureTests {
  private func failure(_ purpose: OIDCPurpose, _ reply: HTTPReply) -> UpstreamFailure {
    .provider(reply, from: .backend("okta"), purpose)
  }

  @Test(arguments: OIDCPurpose.allCases)
  func aServerThatIsInTroubleSignsNobodyOut(_ purpose: OIDCPurpose) {
    let replies =
      [408, 429, 500, 502, 503, 511].map { OIDCSamples.error("invalid_grant", status: $0) }
      + [Samples.reply(403, "<html>firewall</html>"), Samples.reply(200, "<html></html>")]
      + [Samples.reply(302, ""), Samples.reply(407, ""), Samples.reply(204, "")]
    for reply in replies {
      let failure = failure(purpose, reply)
      expect(failure.failureClass.isTransient, "\(reply.status) \(failure.message)")
    }
    for name in ["temporarily_unavailable", "server_error", "slow_down"] {
      expect(failure(purpose, OIDCSamples.error(name)).failureClass.isTransient)
    }
  }

  @Test func onlyARefusedRefreshTokenEndsASession() {
    let refused = failure(.renewal, OIDCSamples.error("invalid_grant"))
    expect(refused.failureClass, equals: .signInRequired)
    expect(refused.remedy == nil)
    expect(refused.reason, equals: "InvalidGrant")
    for name in [
      "invalid_client", "unauthorized_client", "invalid_request", "unsupported_grant_type",
      "invalid_scope", "invalid_target",
    ] {
      for status in [400, 401, 403] {
        let failure = failure(.renewal, OIDCSamples.error(name, status: status))
        expect(failure.failureClass, equals: .permanentConfiguration, "\(name) \(status)")
        expect(failure.severity, equals: .operatorMustAct)
      }
    }
  }

  /// glewlwyd answers a refused refresh with 400 and an empty body.
  @Test func aRefusalWithoutAReasonIsAskedOnceMoreAndThenBelieved() {
    for reply in [
      Samples.reply(400, ""), Samples.reply(400, "{}"), Samples.reply(403, "no"),
      OIDCSamples.error("something_new"), Samples.reply(401, ""),
    ] {
      let failure = failure(.renewal, reply)
      expect(failure.failureClass, equals: .signInRequired)
      expect(failure.remedy, equals: .onceMore)
    }
    // A wrong URL is no refused token.
    for status in [404, 405] {
      expect(
        failure(.renewal, Samples.reply(status, "")).failureClass, equals: .permanentConfiguration)
    }
  }

  @Test func aRefusedCodeEndsTheSignIn() {
    for (name, status) in [("invalid_grant", 400), ("invalid_code", 403), ("access_denied", 403)] {
      let failure = failure(.signIn, OIDCSamples.error(name, status: status))
      expect(failure.failureClass, equals: .signInFailed)
      expect(failure.code, equals: .signInFailed)
    }
    expect(failure(.signIn, Samples.reply(400, "")).failureClass, equals: .signInFailed)
    expect(
      failure(.signIn, OIDCSamples.error("invalid_client", status: 401)).failureClass,
      equals: .permanentConfiguration)
  }

  @Test func aTokenThatIsGoneCountsAsRevoked() throws {
    expect(failure(.revocation, OIDCSamples.error("invalid_grant")).remedy, equals: .alreadyDone)
    expect(failure(.revocation, OIDCSamples.error("invalid_token")).remedy, equals: .alreadyDone)
    #expect(throws: Never.self) { try OIDCSamples.client().revoked(Samples.reply(200, "")) }
    #expect(throws: UpstreamFailure.self) {
      try OIDCSamples.client().revoked(OIDCSamples.error("unsupported_token_type"))
    }
  }

  @Test func anErrorInASuccessIsAnError() throws {
    let reply = OIDCSamples.error("invalid_grant", status: 200)
    let failure = #expect(throws: UpstreamFailure.self) {
      try OIDCSamples.client().renewal(from: reply, of: "u", wallTime: OIDCSamples.now)
    }
    expect(failure?.failureClass, equals: .signInRequired)
  }

  @Test func aDescriptionIsShownWithoutWhatWasSent() {
    var reply = OIDCSamples.error(
      "invalid_grant", "token refresh-secret-9 of eyJhbGciOi.x is bad\\u001b[1m")
    reply.sent = SentSecrets([Secret("refresh-secret-9")])
    let failure = failure(.renewal, reply)
    expect(failure.message.contains("(invalid_grant: token … of … is bad [1m)"))
    expect(!failure.summary.contains("bad"))
  }

  @Test func aNameThatIsNoneIsNotShown() {
    for name in ["", "a b", "<script>", "eyJhbGciOiJSUzI1NiJ9", String(repeating: "x", count: 65)] {
      let failure = failure(.signIn, OIDCSamples.error(name))
      expect(failure.reason == nil)
      expect(failure.message.contains("status 400"))
    }
  }
}

struct DeviceGrantTests {
  private static func grant(_ changed: [(String, String?)] = []) throws -> DeviceGrant {
    var members: [(String, String)] = [
      ("device_code", #""device/1""#), ("user_code", #""WDJB-MJHT""#),
      ("verification_uri", #""https://login.example.com/activate""#),
      (
        "verification_uri_complete",
        #""https://login.example.com/activate?user_code=WDJB-MJHT""#
      ), ("expires_in", "600"), ("interval", "7"),
    ]
    for (name, value) in changed {
      members.removeAll { $0.0 == name }
      if let value { members.append((name, value)) }
    }
    let body = "{" + members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
    return try OIDCSamples.client().deviceGrant(from: Samples.reply(200, body))
  }

  @Test func aGrantIsRead() throws {
    let grant = try Self.grant()
    expect(grant.userCode, equals: "WDJB-MJHT")
    expect(grant.url, equals: "https://login.example.com/activate")
    expect(grant.completeURL?.hasSuffix("WDJB-MJHT") == true)
    expect(grant.lifetime, equals: .seconds(600))
    expect(grant.interval, equals: .seconds(7))
    expect(try Self.grant([("interval", nil)]).interval, equals: .seconds(5))
    expect(try Self.grant([("interval", "0")]).interval, equals: .seconds(5))
    expect(try Self.grant([("interval", "0.01")]).interval, equals: .seconds(1))
    expect(try Self.grant([("interval", "99999")]).interval, equals: .seconds(300))
    expect(try Self.grant([("expires_in", "86400")]).lifetime, equals: .seconds(1800))
    let google: [(String, String?)] = [
      ("verification_uri", nil), ("verification_url", #""https://www.google.com/device""#),
    ]
    expect(try Self.grant(google).url, equals: "https://www.google.com/device")
  }

  /// As at the token endpoint.
  @Test func numbersMayBeTextsAndACodeWithoutALifetimeEndsAfterFiveMinutes() throws {
    expect(try Self.grant([("expires_in", #""900""#)]).lifetime, equals: .seconds(900))
    expect(try Self.grant([("interval", #""9""#)]).interval, equals: .seconds(9))
    for none in [nil, "null"] {
      expect(try Self.grant([("expires_in", none)]).lifetime, equals: .seconds(300))
    }
  }

  @Test func whatCannotBeShownOrPolledIsRefused() throws {
    let wrong: [(String, String?)] = [
      ("device_code", nil), ("device_code", #""""#), ("device_code", #""a\n""#),
      ("user_code", nil), ("user_code", #""a\u001bb""#),
      ("user_code", "\"\(String(repeating: "x", count: 65))\""),
      ("verification_uri", nil), ("verification_uri", #""http://login.example.com/""#),
      ("verification_uri", #""javascript:alert(1)""#),
      ("verification_uri_complete", #""http://127.0.0.1/""#),
      ("expires_in", "0"), ("expires_in", "-5"), ("expires_in", #""soon""#),
      ("expires_in", #""0""#), ("expires_in", "[600]"),
    ]
    for change in wrong {
      #expect(throws: UpstreamFailure.self, "\(change)") { try Self.grant([change]) }
    }
  }

  @Test func theRequestsAreThoseOfTheRFC() throws {
    let client = try OIDCSamples.client()
    let start = try #require(client.startDeviceGrant(scopes: ["openid", "offline_access"]))
    expect(start.url, equals: "https://login.example.com/device")
    expect(start.form, equals: ["client_id": "client-1", "scope": "openid offline_access"])
    let secret = try OIDCSamples.client(.basic(Secret("s"))).startDeviceGrant(scopes: [])
    expect(secret?.form, equals: ["client_id": "client-1"])
    expect(
      try client.poll(Self.grant()).form,
      equals: [
        "grant_type": "urn:ietf:params:oauth:grant-type:device_code", "device_code": "device/1",
        "client_id": "client-1",
      ])
    let none = try OIDCSamples.client(.none, [("device_authorization_endpoint", nil)])
    expect(none.startDeviceGrant(scopes: []) == nil)
  }

  private func answer(_ reply: HTTPReply) throws -> DeviceAnswer {
    try OIDCSamples.client().deviceAnswer(from: reply, wallTime: OIDCSamples.now)
  }

  @Test(arguments: [400, 403, 429, 200])
  func theErrorCountsAndNotTheStatus(_ status: Int) throws {
    expect(try answer(OIDCSamples.error("authorization_pending", status: status)), equals: .pending)
    expect(
      try answer(OIDCSamples.error("slow_down", status: status)), equals: .slowDown(retryAfter: nil)
    )
  }

  @Test func troubleIsNoEnd() throws {
    for reply in [
      Samples.reply(429, ""), Samples.reply(503, ""), Samples.reply(500, "<html>"),
      Samples.reply(408, ""), OIDCSamples.error("temporarily_unavailable"),
      OIDCSamples.error("access_denied", status: 500),
    ] {
      expect(try answer(reply), equals: .slowDown(retryAfter: nil))
    }
    let later = Samples.reply(429, "", ["Retry-After": "90"])
    expect(try answer(later), equals: .slowDown(retryAfter: .seconds(90)))
    let lost = UpstreamFailure.transport(.timeout, from: .backend("okta"))
    expect(OIDCClient.deviceAnswer(to: lost), equals: .slowDown(retryAfter: nil))
  }

  @Test func everythingElseEndsTheCode() throws {
    for reply in [
      OIDCSamples.error("access_denied"), OIDCSamples.error("expired_token"),
      OIDCSamples.error("invalid_grant"), OIDCSamples.error("something_new"),
      OIDCSamples.error("unauthorized_client"), Samples.reply(400, ""),
    ] {
      guard case .ended = try answer(reply) else {
        Issue.record("\(reply.status) did not end the code")
        continue
      }
    }
    expect(try tokens(id: OIDCSamples.token()).get().id.subject, equals: "user-1")
    for refused in [nil, OIDCSamples.token([("aud", "\"x\"")])] {
      #expect(throws: UpstreamFailure.self) { try tokens(id: refused).get() }
    }
  }

  private func tokens(id: Secret?) throws -> Result<OIDCTokens, UpstreamFailure> {
    guard case .tokens(let reply) = try answer(OIDCSamples.tokens(id: id)) else {
      throw InvalidInput(field: "answer", reason: "has no tokens")
    }
    return reply.tokens
  }

  @Test func slowDownCountsForGood() throws {
    let start = Instant.seconds(100)
    var polling = DevicePolling(try Self.grant(), now: start)
    expect(polling.next, equals: start + .seconds(7))
    expect(polling.deadline, equals: start + .seconds(600))
    polling.received(.pending, now: start + .seconds(7))
    expect(polling.next, equals: start + .seconds(14))
    polling.received(.slowDown(retryAfter: nil), now: start + .seconds(14))
    expect(polling.next, equals: start + .seconds(26))
    polling.received(.pending, now: start + .seconds(26))
    expect(polling.next, equals: start + .seconds(38))
    polling.received(.slowDown(retryAfter: .seconds(60)), now: start + .seconds(38))
    expect(polling.next, equals: start + .seconds(98))
    expect(polling.interval, equals: .seconds(17))
    for _ in 0..<200 { polling.received(.slowDown(retryAfter: nil), now: start) }
    expect(polling.interval, equals: .seconds(300))
  }
}
