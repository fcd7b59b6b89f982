import CredCore
import Testing

struct PasswordSignInTests {
  private let backend = HTTPBackend(name: "corp")

  @Test func request() throws {
    let request = try backend.signInRequest(
      username: "alice", password: Secret("p\"w"), developerProvider: Samples.provider,
      url: "https://auth.example.com/login")
    #expect(request.url == "https://auth.example.com/login")
    #expect(
      Samples.body(request)
        == #"{"Username":"alice","Password":"p\"w","DeveloperProviderName":"login.example.app"}"#)
    #expect("\(request)".contains("p\"w") == false)
  }

  @Test func readsTheSession() throws {
    let named = try backend.session(
      from: Samples.reply(200, #"{"SessionToken":"s","DeveloperUserIdentifier":"u1"}"#))
    #expect(named.token == Secret("s"))
    #expect(named.developerUserIdentifier == "u1")
    let plain = try backend.session(
      from: Samples.reply(200, #"{"sessionToken":"s","developerUserIdentifier":null}"#))
    #expect(plain.developerUserIdentifier == nil)
  }

  @Test(arguments: [
    "{}", #"{"SessionToken":""}"#, #"{"SessionToken":"a\nb"}"#, #"{"SessionToken":"é"}"#,
    #"{"SessionToken":"s","DeveloperUserIdentifier":""}"#,
    #"{"SessionToken":"s","DeveloperUserIdentifier":"\#(String(repeating: "u", count: 1025))"}"#,
    "[]", "",
  ])
  func refusesWhatIsNoSession(body: String) {
    let failure = failure { () throws(UpstreamFailure) in
      _ = try backend.session(from: Samples.reply(200, body))
    }
    #expect(failure?.code == .backendUnavailable)
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
    #expect(failure?.failureClass == failureClass)
    #expect(failure?.code == code)
    #expect(failure?.message.contains("hunter2") == false)
  }

  @Test func neverTrapsOnMutations() {
    var mutations = Mutations(seed: 5)
    let body = #"{"SessionToken":"s","DeveloperUserIdentifier":"u1"}"#
    for _ in 0..<2000 {
      let session = try? backend.session(from: HTTPReply(status: 200, body: mutations.mutate(body)))
      #expect(session?.token.isEmpty != true)
    }
  }
}

struct SignOutCallTests {
  private let backend = HTTPBackend(name: "corp", bearer: Secret("s"))

  @Test func request() throws {
    var query = try Samples.query
    query.logins = try LoginsMap([("p", Secret("t"))])
    let request = try backend.signOutRequest(query, url: "https://auth.example.com/logout")
    #expect(request.url == "https://auth.example.com/logout")
    #expect(Samples.header(request, "Authorization") == "Bearer s")
    #expect(Samples.body(request).contains("Logins") == false)
    #expect(Samples.body(request).contains(#""DeveloperUserIdentifier":"alice""#))
  }

  @Test(arguments: [200, 204, 401, 404, 410])
  func done(status: Int) throws {
    try backend.checkSignOut(Samples.reply(status, ""))
  }

  @Test(arguments: [302, 403, 429, 500])
  func notDone(status: Int) {
    #expect(throws: UpstreamFailure.self) { try backend.checkSignOut(Samples.reply(status, "")) }
  }
}
