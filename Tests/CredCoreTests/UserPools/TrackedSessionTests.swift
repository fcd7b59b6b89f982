import TestSupport
import Testing

@testable import CredCore

/// ListUserSessions and RevokeUserSession, and a sign-out with the browser's session.
struct TrackedSessionTests {
  static let one = "tkn" + String(repeating: "a0b1c", count: 5)
  static let browser = "sso" + String(repeating: "z9y8x", count: 5)

  private let client: UserPoolClient

  init() throws { client = try PoolSamples.client() }

  private func page(_ body: String) throws(UpstreamFailure) -> TrackedSessionPage {
    try client.sessions(from: Samples.reply(200, body))
  }

  private func body(_ request: HTTPRequest) -> JSONValue? {
    try? JSONValue.parse(request.body.bytes)
  }

  @Test func theRequestsAreTheModels() throws {
    let token = PoolSamples.token
    let id = try TrackedSessionID(Self.browser)
    let rows: [(HTTPRequest, String, String)] = [
      (client.listSessions(accessToken: token), "ListUserSessions", ""),
      (
        client.listSessions(accessToken: token, after: "p"), "ListUserSessions",
        #","NextToken":"p""#
      ),
      (
        client.endSession(accessToken: token, id), "RevokeUserSession",
        #","SessionId":"\#(Self.browser)""#
      ),
    ]
    for (request, operation, more) in rows {
      expect(
        Samples.header(request, "X-Amz-Target"),
        equals: "AWSCognitoIdentityProviderService.\(operation)")
      expect(Samples.body(request), equals: #"{"AccessToken":"access.token"\#(more)}"#)
    }
  }

  @Test func onlyASignOutThatWantsItEndsTheBrowsersSession() {
    let name = "RevokeAssociatedSessions"
    expect(body(client.revoke(refreshToken: Secret("r")))?[name] == nil)
    let linked = body(client.revoke(refreshToken: Secret("r"), withSSO: true))
    expect(linked?[name]?.text, equals: "LINKED")
    expect(linked?["Token"]?.text, equals: "r")
  }

  @Test func aPageIsRead() throws {
    let first =
      #"{"SessionId":"\#(Self.one)","SessionType":"TOKEN","ClientId":"c1","#
      + #""CreateDate":1767312000,"LastActiveDate":1767315600.5,"DeviceType":"Linux, credd","#
      + #""LastIPAddress":"192.0.2.1","LastLocation":{"City":"Bern","Country":"Switzerland"},"#
      + #""OriginSessionId":"\#(Self.browser)","IsCurrentSession":true}"#
    let second =
      #"{"SessionId":"\#(Self.browser)","SessionType":"SSO","DeviceType":"unknown","#
      + #""LastLocation":{"Country":"unknown"},"New":1}"#
    let page = try page(#"{"Sessions":[\#(first),\#(second)],"NextToken":"n"}"#)
    expect(page.next, equals: "n")
    let (token, sso) = (try #require(page.sessions.first), try #require(page.sessions.last))
    expect(token.id.kind == .token && token.client == "c1" && token.isThis)
    expect(token.created, equals: WallTime(milliseconds: 1_767_312_000_000))
    expect(token.lastUsed != nil && token.lastAddress == "192.0.2.1")
    expect(token.place == "Bern, Switzerland" && token.device == "Linux, credd")
    expect(sso.id.kind == .sso && sso.client == nil && sso.created == nil)
    expect(sso.place == nil && sso.device == nil && !sso.isThis)
    expect(try self.page("{}").sessions.isEmpty)
  }

  @Test func textsOfASessionAreClean() throws {
    let page = try page(
      #"{"Sessions":[{"SessionId":"\#(Self.one)","DeviceType":"a\u001b[2Jb\nc","#
        + #""LastLocation":{"City":"\u001b]0;x\u0007y"}}]}"#)
    let session = try #require(page.sessions.first)
    expect(session.device, equals: "a [2Jb c")
    expect(session.place, equals: "]0;x y")
  }

  @Test(arguments: [
    #"{"Sessions":[{"SessionId":"x"}]}"#, #"{"Sessions":[{}]}"#, #"{"Sessions":[7]}"#,
  ])
  func whatIsNoSessionIsMalformed(body: String) {
    #expect(throws: UpstreamFailure.self) { try page(body) }
  }

  @Test func aSessionThatIsNotThereIsNotTheOperatorsBusiness() {
    let failure = failure { () throws(UpstreamFailure) in
      try client.sessionEnded(
        Samples.reply(400, #"{"__type":"ResourceNotFoundException","message":"?"}"#))
    }
    expect(failure?.code, equals: .accountRefused)
    expect(failure?.message.contains("does not know this session") == true)
    expect(failure?.severity, equals: .expected)
  }
}
