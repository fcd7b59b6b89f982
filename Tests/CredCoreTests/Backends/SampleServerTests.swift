import CredCore
import Foundation
import SeededRandom
import TestSupport
import Testing

/// The known answers come from the sample server's own code, run with these inputs.
struct SampleServerTests {
  static let now = WallTime(milliseconds: 1_442_945_283_000)  // 2015-09-22T18:08:03Z
  static let key = "00112233445566778899aabbccddeeff"
  static let uid = "0123456789abcdef0123456789abcdef"
  static let loginReply =
    "AAECAwQFBgcICQoLDA0OD8hP04R5g+wd/5mZs07pVxFXGtXded65wy5qB88a/z0wFDN2n7fPwB7X5/3q/6c27w=="
  private let crypto = TestCrypto()

  private func server() throws -> SampleServer {
    try SampleServer(backend: "sample", url: "http://LOCALHOST:8080/")
  }

  private func signIn() throws -> SampleServer.SignIn {
    try server().signIn(
      username: "bob", password: Secret("secret123"), uid: Self.uid, digests: crypto)
  }

  private func session() throws -> SampleSession {
    try server().session(
      from: Samples.reply(200, Self.loginReply + "\n"), of: signIn(), cipher: crypto)
  }

  @Test func loginIsSigned() throws {
    let request = try server().request(signIn(), digests: crypto, now: Self.now)
    expect(request.url, equals: "http://LOCALHOST:8080/login")
    expect(
      Samples.body(request),
      equals: "username=bob&timestamp=2015-09-22T18%3A08%3A03Z&uid=\(Self.uid)&signature="
        + "17779e60bbd829651955623dfc6757be161a7d2f2b6451e6c87b85b514614fa5")
  }

  @Test func loginReplyIsDecrypted() throws {
    let session = try session()
    expect(session.key, equals: Secret(Self.key))
    expect(session.uid, equals: Self.uid)
    expect(SampleSession(packed: session.packed), equals: session)
  }

  @Test func tokenRequestIsSigned() throws {
    let query = TokenQuery(
      pool: try Samples.pool, developerProvider: "login.x", userIdentifier: "bob",
      identity: try IdentityID("us-east-1:11111111-2222-3333-4444-555555555555"))
    let request = try server().request(
      query, session: session(), digests: crypto, now: Self.now)
    expect(
      Samples.body(request),
      equals: "uid=\(Self.uid)&timestamp=2015-09-22T18%3A08%3A03Z&provider1=login.x&token1=bob"
        + "&identityId=us-east-1%3A11111111-2222-3333-4444-555555555555&signature="
        + "23101cbd7149128866fec5379d6e90e0d54e21ef7ee0d5828f1d9b455eaf6339")
  }

  @Test func linkedLoginsFollowTheUsersOwn() throws {
    var query = try Samples.query
    query.logins = try LoginsMap([("graph.facebook.com", Secret("f"))])
    let request = try server().request(query, session: session(), digests: crypto, now: Self.now)
    expect(Samples.body(request).contains("&provider2=graph.facebook.com&token2=f&signature="))
  }

  private func sealed(_ text: String) -> String {
    let iv = Array(repeating: UInt8(7), count: 16)
    let key: [UInt8] = [
      0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE,
      0xFF,
    ]
    let bytes = iv + (crypto.encryptAES128CBC(Array(text.utf8), key: key, iv: iv) ?? [])
    return Data(bytes).base64EncodedString()
  }

  private func token(_ reply: HTTPReply) throws -> TokenReply {
    try server().reply(reply, to: Samples.query, session: session(), cipher: crypto)
  }

  @Test func tokenReplyHasATrailingComma() throws {
    let body =
      #"{"identityPoolId": "\#(Samples.poolText)", "identityId": "\#(Samples.identityText)", "#
      + #""token": "t",}"#
    let reply = try token(Samples.reply(200, sealed(body) + "\n"))
    expect(reply.identity, equals: try Samples.identity)
    expect(reply.token.token, equals: Secret("t"))
  }

  @Test(arguments: ["", "AAAA", "not base64!", loginReply, "<html>"])
  func refusesWhatCannotBeDecrypted(body: String) {
    #expect(throws: UpstreamFailure.self) { try token(Samples.reply(200, body)) }
  }

  @Test(
    arguments: [
      (400, .backendRejected), (401, .signInRequired), (406, .backendRejected),
      (500, .backendUnavailable),
    ] as [(Int, ProtocolErrorCode)])
  func statuses(status: Int, code: ProtocolErrorCode) throws {
    let (server, query, session) = (try server(), try Samples.query, try session())
    let failure = failure { () throws(UpstreamFailure) in
      _ = try server.reply(
        Samples.reply(status, "Error matching signature\n"), to: query, session: session,
        cipher: crypto)
    }
    expect(failure?.code, equals: code)
    expect(failure?.message.hasSuffix("(status \(status): Error matching signature)") == true)
  }

  @Test(arguments: [400, 401, 403, 406])
  func aWebPageIsTheWays(status: Int) throws {
    let (server, query, session) = (try server(), try Samples.query, try session())
    let (signIn, page) = (try signIn(), Samples.reply(status, "<html>Blocked"))
    let signUp = SignUp(username: "bob", password: Secret("secret123"))
    let failures = [
      failure { () throws(UpstreamFailure) in
        _ = try server.reply(page, to: query, session: session, cipher: crypto)
      },
      failure { () throws(UpstreamFailure) in
        _ = try server.session(from: page, of: signIn, cipher: crypto)
      },
      failure { () throws(UpstreamFailure) in
        _ = try server.signUpResult(from: page, to: signUp)
      },
    ]
    for failure in failures {
      expect(failure?.code, equals: .backendUnavailable)
      expect(failure?.failureClass.isTransient == true)
    }
  }

  @Test func aRefusedLoginIsAFailedSignIn() throws {
    let (server, signIn) = (try server(), try signIn())
    let failure = failure { () throws(UpstreamFailure) in
      _ = try server.session(from: Samples.reply(401, "x"), of: signIn, cipher: crypto)
    }
    expect(failure?.code, equals: .signInFailed)
  }

  @Test(arguments: [
    ("bo", "secret123"), ("bob!", "secret123"), ("bob", "short"), ("", "secret123"),
    ("bob", String(repeating: "p", count: 129)),
  ])
  func checksTheServersRules(username: String, password: String) {
    #expect(throws: InvalidInput.self) {
      try server().signIn(
        username: username, password: Secret(password), uid: Self.uid, digests: crypto)
    }
  }

  @Test(arguments: ["", ":", "\(uid):", "\(uid):xyz", "\(uid)\(key)", "\(uid):\(key):"])
  func refusesAnInvalidPackedSession(text: String) {
    expect(SampleSession(packed: Secret(text)) == nil)
  }

  @Test func idsAreFromTheGenerator() {
    var generator = SeededGenerator(seed: 6)
    let first = SampleSession.makeUID(using: &generator)
    expect(first.utf8.count, equals: 32)
    expect(first != SampleSession.makeUID(using: &generator))
  }
}
