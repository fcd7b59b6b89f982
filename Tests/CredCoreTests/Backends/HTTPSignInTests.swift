import CredCore
import TestSupport
import Testing

struct PasswordSignInTests {
  private let backend = HTTPBackend(name: "corp")

  @Test func request() throws {
    let request = try backend.signInRequest(
      username: "alice", password: Secret("p\"w"), developerProvider: Samples.provider,
      url: "https://auth.example.com/login")
    expect(request.url, equals: "https://auth.example.com/login")
    expect(
      Samples.body(request),
      equals: #"{"Username":"alice","Password":"p\"w","DeveloperProviderName":"login.example.app"}"#
    )
    expect("\(request)".contains("p\"w") == false)
  }

  @Test func readsTheSession() throws {
    let named = try backend.session(
      from: Samples.reply(200, #"{"SessionToken":"s","DeveloperUserIdentifier":"u1"}"#))
    expect(named.token, equals: Secret("s"))
    expect(named.developerUserIdentifier, equals: "u1")
    let plain = try backend.session(
      from: Samples.reply(200, #"{"sessionToken":"s","developerUserIdentifier":null}"#))
    expect(plain.developerUserIdentifier == nil)
  }

  @Test(arguments: [
    "{}", #"{"SessionToken":""}"#, #"{"SessionToken":"a\nb"}"#, #"{"SessionToken":"é"}"#,
    #"{"SessionToken":"s","DeveloperUserIdentifier":""}"#,
    #"{"SessionToken":"s","DeveloperUserIdentifier":"\#(String(repeating: "u", count: 1025))"}"#,
    "[]", "",
  ])
  func refusesAnInvalidSession(body: String) {
    let failure = failure { () throws(UpstreamFailure) in
      _ = try backend.session(from: Samples.reply(200, body))
    }
    expect(failure?.code, equals: .backendUnavailable)
  }

  @Test(
    arguments: [
      (400, .signInFailed, .signInFailed), (401, .signInFailed, .signInFailed),
      (403, .signInFailed, .signInFailed), (404, .signInFailed, .signInFailed),
      (429, .throttled(retryAfter: nil), .throttled),
      (500, .transient(retryAfter: nil), .backendUnavailable),
      (302, .transient(retryAfter: nil), .backendUnavailable),
    ] as [(Int, FailureClass, ProtocolErrorCode)])
  func statuses(status: Int, failureClass: FailureClass, code: ProtocolErrorCode) {
    let failure = failure { () throws(UpstreamFailure) in
      _ = try backend.session(from: Samples.reply(status, "wrong password: hunter2"))
    }
    expect(failure?.failureClass, equals: failureClass)
    expect(failure?.code, equals: code)
    expect(failure?.message.contains("hunter2") == false)
  }

  /// Whoever makes the server say that of TLS has guessed a password nevertheless.
  @Test func aWordOfTLSDoesNotExcuseAWrongPassword() {
    var reply = Samples.reply(400, "Client sent an HTTP request to an HTTPS server.\n")
    reply.wentPlain = true
    let failure = failure { () throws(UpstreamFailure) in _ = try backend.session(from: reply) }
    expect(failure?.code, equals: .signInFailed)
  }

  @Test(arguments: [400, 401, 403, 404, 422])
  func aWebPageIsNoWrongPassword(_ status: Int) {
    let failure = failure { () throws(UpstreamFailure) in
      _ = try backend.session(from: Samples.reply(status, "<html>Blocked"))
    }
    expect(failure?.failureClass, equals: .transient(retryAfter: nil))
    expect(failure?.code, equals: .backendUnavailable)
    expect(failure?.ifRepeated?.code, equals: status == 401 ? .signInFailed : nil)
  }
}

struct GlobalSignOutTests {
  private let backend = HTTPBackend(
    name: "corp", hostToken: Secret("h"), sessionToken: Secret("s"))

  @Test func request() throws {
    var query = try Samples.query
    query.logins = try LoginsMap([("p", Secret("t"))])
    let request = try backend.signOutRequest(query, url: "https://auth.example.com/logout")
    expect(request.url, equals: "https://auth.example.com/logout")
    expect(Samples.header(request, "Authorization"), equals: "Bearer s")
    expect(Samples.body(request).contains("Logins") == false)
    expect(Samples.body(request).contains(#""DeveloperUserIdentifier":"alice""#))
  }

  @Test(arguments: [200, 204, 401, 404, 410])
  func statusesOfASignOut(status: Int) throws {
    try backend.checkSignOut(Samples.reply(status, ""))
  }

  @Test func aSignOutThatTheHostMayNotAskForFails() {
    #expect(throws: UpstreamFailure.self) {
      try backend.checkSignOut(Samples.reply(401, #"{"Code":"HostNotAuthorized"}"#))
    }
  }

  /// Such a backend has no session to end. A token of the host that was refused is another matter: nobody
  /// was signed out.
  @Test func aSignOutWhereOnlyTheHostVouchesMayBeAnswered401() throws {
    for token in [nil, Secret("t")] {
      let trusting = HTTPBackend(name: "corp", hostToken: token, takesSignIns: false)
      try trusting.checkSignOut(Samples.reply(401, #"{"Code":"SessionUnknown"}"#))
      if token == nil {
        try trusting.checkSignOut(Samples.reply(401, ""))
      } else {
        #expect(throws: UpstreamFailure.self) {
          try trusting.checkSignOut(Samples.reply(401, ""))
        }
      }
    }
  }

  @Test(arguments: [302, 403, 429, 500])
  func statusesOfAFailedSignOut(status: Int) {
    #expect(throws: UpstreamFailure.self) { try backend.checkSignOut(Samples.reply(status, "")) }
  }
}
