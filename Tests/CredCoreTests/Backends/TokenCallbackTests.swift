import CredCore
import TestSupport
import Testing

struct TokenCallbackTests {
  static let url = "https://auth.example.com/cognito/token"
  static let backend = HTTPBackend(name: "corp")
  static let body = #"{"IdentityId":"\#(Samples.identityText)","Token":"token-of-alice"}"#

  private func failure(_ reply: HTTPReply) -> UpstreamFailure? {
    CredCoreTests.failure { () throws(UpstreamFailure) in
      let query: TokenQuery
      do { query = try Samples.query } catch { return }
      _ = try Self.backend.token(from: reply, to: query)
    }
  }

  @Test func post() throws {
    var query = try Samples.query
    query.identity = try Samples.identity
    query.logins = try LoginsMap([("accounts.google.com", Secret("g"))])
    let request = try HTTPBackend(
      name: "corp",
      headers: [HTTPHeader(checkingName: "X-Team", value: Secret("infra"))],
      hostToken: Secret("s3cret\n")
    ).tokenRequest(query, url: Self.url)
    expect(request.method, equals: .post)
    expect(request.url, equals: Self.url)
    expect(Samples.header(request, "Content-Type"), equals: "application/json")
    expect(Samples.header(request, "X-Team"), equals: "infra")
    expect(Samples.header(request, "Authorization"), equals: "Bearer s3cret")
    expect(
      Samples.body(request),
      equals:
        #"{"IdentityPoolId":"\#(Samples.poolText)","DeveloperProviderName":"login.example.app","#
        + #""DeveloperUserIdentifier":"alice","IdentityId":"\#(Samples.identityText)","#
        + #""Logins":{"accounts.google.com":"g"}}"#)
  }

  @Test func theHostsTokenStandsBesideTheUsers() throws {
    let both = HTTPBackend(
      name: "corp", hostToken: Secret("host\n"), sessionToken: Secret("session"))
    let query = try Samples.query
    for request in [
      try both.tokenRequest(query, url: Self.url), try both.signOutRequest(query, url: Self.url),
    ] {
      expect(Samples.header(request, "Authorization"), equals: "Bearer session")
      expect(Samples.header(request, "Credd-Host-Authorization"), equals: "Bearer host")
    }
    let alone = HTTPBackend(name: "corp", sessionToken: Secret("session"))
    let request = try alone.tokenRequest(query, url: Self.url)
    expect(Samples.header(request, "Authorization"), equals: "Bearer session")
    expect(Samples.header(request, "Credd-Host-Authorization") == nil)
  }

  @Test func theCallerIsNamedWhereTheBackendWantsIt() throws {
    var query = try Samples.query
    query.caller = CallerNote(user: "alice", uid: 1000, unit: "a.service", purpose: "backup")
    let full = Samples.body(try Self.backend.tokenRequest(query, url: Self.url))
    expect(
      full.hasSuffix(
        #","Caller":{"User":"alice","Uid":1000,"Unit":"a.service","Purpose":"backup"}}"#))
    query.caller = CallerNote(user: nil, uid: 1000)
    let nameless = Samples.body(try Self.backend.tokenRequest(query, url: Self.url))
    expect(nameless.hasSuffix(#","Caller":{"Uid":1000}}"#))
  }

  @Test(arguments: [401, 403])
  func aRefusedHostIsTheOperatorsBusiness(status: Int) throws {
    for name in ["Code", "code"] {
      let reply = Samples.reply(status, #"{"\#(name)":"HostNotAuthorized","Message":"expired"}"#)
      let refusal = self.failure(reply)
      let failure = try #require(refusal)
      expect(failure.code, equals: .backendRejected)
      expect(failure.severity, equals: .operatorMustAct)
      expect(failure.failureClass, equals: .permanentConfiguration)
      expect(failure.message.contains("bearer_token_file"))
    }
    expect(failure(Samples.reply(status, #"{"Code":"Unauthorized"}"#))?.refusesHost == false)
    expect(failure(Samples.reply(500, #"{"Code":"HostNotAuthorized"}"#))?.refusesHost == false)
  }

  @Test func aForcedRefreshSaysSo() throws {
    let plain = try Self.backend.tokenRequest(Samples.query, url: Self.url)
    expect(Samples.header(plain, "Cache-Control") == nil)
    let forced = try Self.backend.tokenRequest(Samples.query, url: Self.url, isForced: true)
    expect(Samples.header(forced, "Cache-Control"), equals: "no-cache")
  }

  @Test func getSendsNothingButItsURL() throws {
    let request = try Self.backend.tokenRequest(
      Samples.query, method: .get, url: "https://a/b?user=alice")
    expect(request.method, equals: .get)
    expect(request.body.isEmpty)
    expect(Samples.header(request, "Content-Type") == nil)
    expect(Samples.header(request, "Authorization") == nil)
  }

  @Test func configuredHeadersReplaceCreddsAndTheBearerTokenBoth() throws {
    let headers = [
      try HTTPHeader(checkingName: "authorization", value: Secret("Basic x")),
      try HTTPHeader(checkingName: "ACCEPT", value: Secret("text/json")),
    ]
    let backend = HTTPBackend(name: "corp", headers: headers, hostToken: Secret("session"))
    let request = try backend.tokenRequest(Samples.query, url: Self.url)
    let names = request.headers.map { $0.name.lowercased() }
    expect(names.sorted(), equals: ["accept", "authorization", "content-type"])
    expect(Samples.header(request, "Authorization"), equals: "Bearer session")
  }

  @Test(arguments: ["", " \n", "a b", "a\r\nX: y", "é"])
  func refusesAnInvalidBearerToken(token: String) {
    let backend = HTTPBackend(name: "corp", hostToken: Secret(token))
    #expect(throws: InvalidInput.self) { try backend.tokenRequest(Samples.query, url: Self.url) }
  }

  @Test(arguments: [("", "v"), ("a b", "v"), ("a:", "v"), ("é", "v"), ("a", "b\nc"), ("a", "\0")])
  func refusesAnInvalidHeader(name: String, value: String) {
    #expect(throws: InvalidInput.self) {
      try HTTPHeader(checkingName: name, value: Secret(value))
    }
  }

  @Test(arguments: [
    body,
    #"{"identityId":"\#(Samples.identityText)","token":"token-of-alice"}"#,
    #"{"identityPoolId":"\#(Samples.poolText)","identityId":"\#(Samples.identityText)","#
      + #""Token":"token-of-alice","expires":900}"#,
    #"{"IdentityPoolId":null,"IdentityId":"\#(Samples.identityText)","Token":"token-of-alice"}"#,
  ])
  func readsBothSpellings(body: String) throws {
    let reply = try Self.backend.token(from: Samples.reply(200, body), to: Samples.query)
    expect(reply.identity, equals: try Samples.identity)
    expect(reply.token.token, equals: Secret("token-of-alice"))
  }

  @Test(arguments: [
    #"{"IdentityPoolId":"us-east-1:0","IdentityId":"\#(Samples.identityText)","Token":"t"}"#,
    #"{"IdentityId":"eu-west-1:99999999-8888-7777-6666-555555555555","Token":"t"}"#,
    #"{"IdentityId":"\#(Samples.identityText)","Token":"\#(Samples.jwt(#"{"aud":"us-east-1:0"}"#))"}"#,
  ])
  func refusesAnotherPool(body: String) {
    let failure = failure(Samples.reply(200, body))
    expect(failure?.failureClass, equals: .permanentConfiguration)
    expect(failure?.code, equals: .poolMisconfigured)
    expect(failure?.severity, equals: .operatorMustAct)
    expect(failure?.message.hasPrefix("backend 'corp'") == true)
  }

  @Test(arguments: [
    (#"{"Token":"t"}"#, "IdentityId is missing"),
    (#"{"IdentityId":"\#(Samples.identityText)"}"#, "Token is missing"),
    (#"{"IdentityId":"\#(Samples.identityText)","Token":""}"#, "Token is empty"),
    (#"{"IdentityId":"\#(Samples.identityText)","Token":7}"#, "Token is empty or no string"),
    (#"{"IdentityId":"alice","Token":"t"}"#, "IdentityId is not of the form"),
    (#"{"IdentityId":"a:1","identityId":"a:1","Token":"t"}"#, "IdentityId is there twice"),
    (
      #"{"IdentityId":"\#(Samples.identityText)","Token":"t","IdentityPoolId":1}"#,
      "IdentityPoolId is no string"
    ),
    (#"{"IdentityId":"a","IdentityId":"b"}"#, "an object with a key twice, at byte 18"),
    (#"["IdentityId"]"#, "is no object"), ("", "no JSON at byte 0"), ("ok", "no JSON"),
    (#"{"Token":"t",}"#, "no JSON"),
  ])
  func namesTheProblem(body: String, wrong: String) {
    let failure = failure(Samples.reply(200, body))
    expect(failure?.message.contains(wrong) == true)
    expect(failure?.code, equals: .backendUnavailable)
    expect(failure?.failureClass, equals: .transient(retryAfter: nil))
    expect(failure?.severity, equals: .operatorMustAct)
  }

  @Test func refusesALargeReply() {
    let body = #"{"x":"\#(String(repeating: "x", count: Limits.Upstream.backendReplyBytes))"}"#
    expect(failure(Samples.reply(200, body)), equals: .transport(.tooLarge, from: .backend("corp")))
  }

  @Test(
    arguments: [
      (302, .transient(retryAfter: nil), .backendUnavailable, .operatorMustAct),
      (400, .permanentConfiguration, .backendRejected, .operatorMustAct),
      (401, .signInRequired, .signInRequired, .expected),
      (403, .refusedByBackend, .backendRejected, .expected),
      (404, .unknownUser, .backendRejected, .expected),
      (405, .permanentConfiguration, .backendRejected, .operatorMustAct),
      (409, .retryWithoutIdentity, .identityConflict, .operatorMustAct),
      (407, .transient(retryAfter: nil), .backendUnavailable, .operatorMustAct),
      (408, .transient(retryAfter: nil), .backendUnavailable, .expected),
      (429, .throttled(retryAfter: .seconds(9)), .throttled, .expected),
      (500, .transient(retryAfter: nil), .backendUnavailable, .expected),
      (502, .transient(retryAfter: nil), .backendUnavailable, .expected),
      (503, .transient(retryAfter: .seconds(9)), .backendUnavailable, .expected),
      (101, .transient(retryAfter: nil), .backendUnavailable, .operatorMustAct),
      (999, .transient(retryAfter: nil), .backendUnavailable, .operatorMustAct),
    ] as [(Int, FailureClass, ProtocolErrorCode, UpstreamFailure.Severity)])
  func statuses(
    status: Int, failureClass: FailureClass, code: ProtocolErrorCode,
    severity: UpstreamFailure.Severity
  ) {
    let headers = status == 429 || status == 503 ? ["Retry-After": "9"] : [:]
    let failure = failure(Samples.reply(status, #"{"message":"because"}"#, headers))
    expect(failure?.failureClass, equals: failureClass)
    expect(failure?.code, equals: code)
    expect(failure?.severity, equals: severity)
    expect(failure?.message.hasSuffix("(status \(status): because)") == true)
  }

  /// Nobody could sign in there: only the operator can act.
  @Test func aRefusedTokenOfTheHostIsTheOperatorsToMend() throws {
    let query = try Samples.query
    let http = HTTPBackend(name: "corp", hostToken: Secret("t"), takesSignIns: false)
    let found = CredCoreTests.failure { () throws(UpstreamFailure) in
      _ = try http.token(from: Samples.reply(401, "no"), to: query)
    }
    expect(found?.code, equals: .backendRejected)
    expect(found?.failureClass, equals: .permanentConfiguration)
    expect(found?.severity, equals: .operatorMustAct)
    expect(found?.message.contains("check bearer_token_file (status 401: no)") == true)
    expect(found?.protocolError.kind, equals: .permanent)
  }

  /// Whatever a host shows: a header, a certificate, a socket or nothing. "Sign in" would be told where
  /// nobody can.
  @Test func anUnknownHostIsTheOperatorsToMendToo() throws {
    let query = try Samples.query
    let http = HTTPBackend(name: "corp", takesSignIns: false)
    func failure(_ status: Int, _ body: String) -> UpstreamFailure? {
      CredCoreTests.failure { () throws(UpstreamFailure) in
        _ = try http.token(from: Samples.reply(status, body), to: query)
      }
    }
    for body in ["", "no", "{}", #"{"Code":"Unauthorized","Message":"who is it?"}"#] {
      let found = failure(401, body)
      expect(found?.code, equals: .backendRejected)
      expect(found?.failureClass, equals: .permanentConfiguration)
      expect(found?.severity, equals: .operatorMustAct)
      expect(found?.refusesHost == true && found?.findsRequestWrong == false)
      expect(found?.message.contains("does not know this host") == true)
      // The ways to speak of a user, which the next lines prove.
      expect(found?.message.contains(#"404, or 401 with "Code":"SignInRequired""#) == true)
      expect(found?.protocolError.kind, equals: .permanent)
    }
    // A backend that speaks of the user says so.
    for code in ["SignInRequired", "SessionUnknown"] {
      let found = failure(401, #"{"Code":"\#(code)"}"#)
      expect(found?.code == .signInRequired && found?.refusesHost == false, "\(code)")
    }
    expect(failure(403, "")?.failureClass, equals: .refusedByBackend)
    expect(failure(404, "")?.failureClass, equals: .unknownUser)
  }

  /// Who signed in can sign in again. A refused bearer token is the host's in any case.
  @Test func whereAPersonSignedInA401MayBeAboutThat() throws {
    let query = try Samples.query
    func code(_ http: HTTPBackend, _ isPersonal: Bool) -> ProtocolErrorCode? {
      CredCoreTests.failure { () throws(UpstreamFailure) in
        _ = try http.token(
          from: Samples.reply(401, ""), to: query, isPersonal: isPersonal)
      }?.code
    }
    let session = HTTPBackend(name: "corp", sessionToken: Secret("s"), takesSignIns: false)
    let http = HTTPBackend(name: "corp", takesSignIns: false)
    expect(code(http, false), equals: .backendRejected)
    expect(code(session, false), equals: .signInRequired)
    expect(code(http, true), equals: .signInRequired)
    let showing = HTTPBackend(name: "corp", hostToken: Secret("t"), takesSignIns: false)
    expect(code(showing, true), equals: .backendRejected)
  }

  @Test func aWebPageIsNoReply() {
    let failure = failure(Samples.reply(200, "\n<html><h1>Sign in to HotelWiFi</h1>"))
    expect(failure?.message.contains("captive portal") == true)
    expect(failure?.message.contains("HotelWiFi") == false)
    expect(failure?.failureClass, equals: .transient(retryAfter: nil))
  }

  /// A gateway's status is not the backend's.
  @Test(arguments: [200, 400, 403, 404, 405, 408, 409, 410, 418, 422])
  func aWebPageIsTheWays(_ status: Int) {
    let markup = "<h1>Blocked</h1>"
    for reply in [
      Samples.reply(status, "<!DOCTYPE html>" + markup),
      Samples.reply(status, markup, ["content-type": "text/html; charset=utf-8"]),
    ] {
      let found = failure(reply)
      expect(found?.failureClass, equals: .transient(retryAfter: nil))
      expect(found?.code, equals: .backendUnavailable)
      expect(found?.findsRequestWrong, equals: false)
      expect(found?.ifRepeated == nil)
      expect(found?.message.contains("web page") == true)
      expect(found?.message.hasSuffix("(status \(status))") == true)
    }
  }

  /// These statuses say themselves what is wrong on the way.
  @Test func aWebPageLeavesTheStatusesOfTheWay() {
    for (status, words) in [
      (302, "redirect"), (407, "proxy wants"), (429, "too often"), (500, "has a fault"),
      (503, "not available"), (511, "web page"),
    ] {
      let found = failure(Samples.reply(status, "<html>"))
      expect(found?.failureClass.isTransient == true)
      expect(found?.message.contains(words) == true, "\(status)")
    }
  }

  /// Frameworks name their own texts HTML, and emulators JSON.
  @Test func whatIsOnlyCalledHTMLIsTheBackendsWord() {
    for body in [#"{"message":"blocked"}"#, "blocked", ""] {
      let found = failure(Samples.reply(403, body, ["Content-Type": "text/html"]))
      expect(found?.code, equals: .backendRejected)
    }
  }

  @Test func anUnauthorizedPageMeansWhatItSaysIfItIsRepeated() throws {
    let query = try Samples.query
    let page = Samples.reply(401, "<html>Sign in")
    let users = failure(page)
    expect(users?.failureClass, equals: .transient(retryAfter: nil))
    expect(users?.code, equals: .backendUnavailable)
    expect(users?.ifRepeated?.failureClass, equals: .signInRequired)
    let http = HTTPBackend(name: "corp", hostToken: Secret("t"), takesSignIns: false)
    let hosts = CredCoreTests.failure { () throws(UpstreamFailure) in
      _ = try http.token(from: page, to: query)
    }
    expect(hosts?.code, equals: .backendUnavailable)
    expect(hosts?.refusesHost, equals: false)
    expect(hosts?.ifRepeated?.code, equals: .backendRejected)
    expect(hosts?.ifRepeated?.refusesHost, equals: true)
  }

  @Test func neverRepeatsTheBearerToken() {
    let backend = HTTPBackend(name: "corp", hostToken: Secret("short-one"))
    let failure = CredCoreTests.failure { () throws(UpstreamFailure) in
      let query: TokenQuery
      do { query = try Samples.query } catch { return }
      _ = try backend.token(from: Samples.reply(403, "no such token: short-one"), to: query)
    }
    expect(failure?.message.hasSuffix("(status 403)") == true)
  }
}
