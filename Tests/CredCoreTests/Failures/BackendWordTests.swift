import CredCore
import TestSupport
import Testing

/// What a backend's refusals mean for an administrator.
struct BackendWordTests {
  private static let missing =
    "An error occurred (ResourceNotFoundException) when calling the "
    + "GetOpenIdTokenForDeveloperIdentity operation: IdentityPool '\(Samples.poolText)' not found."

  private func failure(
    _ status: Int, _ body: String, type: String = "application/json", isPlain: Bool = false
  ) -> UpstreamFailure? {
    CredCoreTests.failure { () throws(UpstreamFailure) in
      let query: TokenQuery
      do { query = try Samples.query } catch { return }
      var reply = Samples.reply(status, body, ["Content-Type": type])
      reply.wentPlain = isPlain
      _ = try HTTPBackend(name: "corp", hostToken: Secret("token-of-host"), takesSignIns: false)
        .token(from: reply, to: query)
    }
  }

  /// A callback passes Cognito's error on with a status of its own.
  @Test(arguments: [400, 404, 500, 502, 503])
  func aPoolThatCognitoDoesNotKnowIsNamed(_ status: Int) {
    let found = failure(status, #"{"message":"\#(Self.missing)"}"#)
    expect(found?.message.contains("check identity_pool_id") == true)
    expect(found?.message.contains(Samples.poolText) == true)
    expect(found?.message.contains("tried again") == false)
    expect(found?.protocolError.kind, equals: .permanent)
    expect(found?.protocolError.retryAfter == nil)
    // It is not the IdentityId that is wrong.
    expect(found?.findsRequestWrong, equals: false)
  }

  @Test func aCommandMayPassItOnToo() {
    let outcome = ExecOutcome(ending: .exited(1), standardError: Array(Self.missing.utf8))
    let found = UpstreamFailure.exec(outcome, from: .backend("script"))
    expect(found.message.contains("check identity_pool_id"))
    expect(found.protocolError.kind, equals: .permanent)
  }

  @Test func anotherMissingResourceIsAFaultAsBefore() {
    let said = "ResourceNotFoundException: Requested table not found"
    expect(failure(502, #"{"message":"\#(said)"}"#)?.protocolError.kind, equals: .temporary)
  }

  @Test(arguments: [
    (404, "404 page not found"), (404, #"{"detail":"Not Found"}"#),
    (404, #"{"message":"Not Found"}"#),
    (404, #"{"status":404,"error":"Not Found","path":"/tokn"}"#), (404, "Cannot POST /tokn"),
    (403, #"{"message":"Missing Authentication Token"}"#),
  ])
  func aWrongPathIsTheOperatorsToMend(status: Int, body: String) {
    let found = failure(status, body)
    expect(found?.message.contains("has nothing at this path") == true, "\(found?.message ?? "")")
    expect(found?.message.contains("check url") == true)
    expect(found?.protocolError.kind, equals: .permanent)
    expect(found?.findsRequestWrong, equals: false)
  }

  @Test(arguments: ["", "{}", "who is that?", #"{"message":"alice has no account"}"#])
  func anUnknownUserIsToldAsBefore(body: String) {
    let found = failure(404, body)
    expect(found?.failureClass, equals: .unknownUser)
    expect(found?.protocolError.kind, equals: .denied)
  }

  /// It may be a gateway's.
  @Test func aWebPageIsNotTheBackendsWord() {
    let found = failure(404, "<html>Not Found</html>", type: "text/html")
    expect(found?.message.contains("check the path of its URL") == true)
    expect(found?.protocolError.kind, equals: .temporary)
  }

  @Test(arguments: [
    "<html><center>The plain HTTP request was sent to HTTPS port</center></html>",
    "Client sent an HTTP request to an HTTPS server.\n",
    "<!DOCTYPE HTML><p>Reason: You're speaking plain HTTP to an SSL-enabled server port.</p>",
  ])
  func aServerThatWantsTLSSaysSo(body: String) {
    let found = failure(400, body, type: "text/html", isPlain: true)
    expect(found?.message.contains("the port wants https://") == true, "\(found?.message ?? "")")
    expect(found?.protocolError.kind, equals: .permanent)
    // Of https:// that is not true.
    let encrypted = failure(400, body, type: "text/html")
    expect(encrypted?.message.contains("wants https://") == false)
  }

  /// Where only the host's word stands.
  @Test func aRefusedHostIsForTheAdministrator() {
    for body in ["", "{}", "no", #"{"Code":"HostNotAuthorized"}"#] {
      let found = failure(401, body)
      expect(found?.protocolError.kind, equals: .permanent, "\(body)")
      expect(found?.message.contains("bearer_token_file") == true)
    }
  }
}
