import TestSupport
import Testing

@testable import CredCore

/// What was sent and is secret is taken out of what comes back.
struct SentSecretsTests {
  private func hidden(_ text: String, _ secrets: String...) -> String {
    let sent = SentSecrets(secrets.map { Secret($0) })
    return String(decoding: sent.hide(in: Array(text.utf8)), as: UTF8.self)
  }

  @Test func eachOccurrenceIsReplaced() {
    expect(hidden("key hunter2 or hunter2x", "hunter2"), equals: "key … or …x")
    expect(hidden("nothing of it", "hunter2"), equals: "nothing of it")
    expect(hidden("hunter2", "hunter2", "other"), equals: "…")
    expect(hidden("", "hunter2"), equals: "")
  }

  @Test func aLineBreakAtTheEndOfAFileIsNoPartOfIt() {
    expect(hidden("you sent hunter2", "hunter2\n"), equals: "you sent …")
  }

  @Test func aCredentialIsHiddenWithoutItsScheme() {
    expect(hidden("bad dXNlcjpwYXNz here", "Basic dXNlcjpwYXNz"), equals: "bad … here")
    expect(hidden("Basic auth is off", "Basic dXNlcjpwYXNz"), equals: "Basic auth is off")
  }

  @Test func theLongerSecretIsHiddenFirst() {
    expect(hidden("it was hunter2-more", "hunter2", "hunter2-more"), equals: "it was …")
  }

  @Test func aWordIsNoSecret() {
    expect(hidden("turn it on", "on", "yes", ""), equals: "turn it on")
  }

  private func reply(_ body: String) -> HTTPReply {
    var reply = HTTPReply(status: 403, body: Secret(body))
    reply.sent = SentSecrets([Secret("hush"), Secret("two \"words\"")])
    return reply
  }

  @Test func textsOfABackendAreCleaned() {
    expect(reply("no hush allowed\n").explanation(hiding: []), equals: "no … allowed")
    expect(reply(#"{"message":"no hush"}"#).explanation(hiding: []), equals: "no …")
    // As JSON writes it.
    expect(reply(#"{"message":"a two \"words\" b"}"#).explanation(hiding: []), equals: "a … b")
    expect(reply(#"{"message":"no \u0068ush"}"#).explanation(hiding: []), equals: "no …")
  }

  @Test func aReasonThatRepeatsASecretIsLeftOut() {
    func reason(_ code: String) -> String? {
      UpstreamFailure.backend(reply(#"{"Code":"\#(code)"}"#), from: .backend("corp"), said: nil)
        .reason
    }
    expect(reason("NotYours"), equals: "NotYours")
    expect(reason("Nohush") == nil)
  }

  @Test func textsOfCognitoAndSTSAreCleaned() {
    let json = reply(#"{"__type":"NotAuthorizedException","message":"hush is bad"}"#)
    let cognito = #expect(throws: UpstreamFailure.self) { try CognitoIdentity.identity(from: json) }
    expect(cognito?.message.contains("… is bad") == true)
    let xml = reply(
      "<ErrorResponse><Error><Code>AccessDenied</Code><Message>hush is bad</Message></Error>"
        + "</ErrorResponse>")
    let sts = #expect(throws: UpstreamFailure.self) { try STS.credentials(from: xml) }
    expect(sts?.message.contains("… is bad") == true)
  }

  @Test func textsOfACommandAreCleaned() {
    var outcome = ExecOutcome(ending: .exited(1), standardError: Array("bind as hush failed".utf8))
    outcome.sent = SentSecrets([Secret("hush")])
    expect(
      UpstreamFailure.exec(outcome, from: .backend("corp")).message.contains("bind as … failed"))
  }

  @Test func headersAreSecretUnlessTheyAreKnownNotToBe() {
    let request = HTTPRequest(
      method: .post, url: "http://h",
      headers: [
        HTTPHeader("Content-Type", "application/json"), HTTPHeader("X-Api-Key", "k"),
        HTTPHeader("Authorization", "Bearer t"),
      ])
    expect(request.secretHeaders, equals: [Secret("k"), Secret("Bearer t")])
  }
}
