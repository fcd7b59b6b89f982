import TestSupport
import Testing

@testable import DaemonHarness

/// `type = aws-sample`: the authentication server of Amazon's sample.
@Suite(.onStage)
struct SampleServerTests {
  private func host() throws -> TestHost {
    try TestHost { sandbox in
      """
      [backend corp]
      type = aws-sample
      timeout = 60s
      url = \(sandbox.url)/sample

      """ + Configuration.profile("default", endpoint: sandbox.url)
    }
  }

  private func register(_ name: String, _ host: TestHost) throws {
    let answer = try host.sandbox.call(
      "GET", "/sample/registeruser?username=\(name)&password=secret123")
    try Stage.current().note(secret: "secret123", isPhrase: true)
    expect(answer.hasPrefix("HTTP/1.1 200 "), "\(answer)")
  }

  private func logIn(_ name: String, _ host: TestHost) throws -> TestHost.Outcome {
    try host.credctl(
      input: "secret123\n", "login", "--username", name, "--password-stdin")
  }

  @Test
  func registeredUserSignsInAndGetsTokens() throws {
    let host = try host()
    try register("carol", host)
    let outcome = try logIn("carol", host)
    expect(outcome.status, equals: 0, "\(outcome)")
    let login = try host.sandbox.lastForm("login")
    expect(Set(login.keys), equals: ["username", "timestamp", "uid", "signature"])
    expect(login["username"], equals: "carol")
    let first = try host.sandbox.lastForm("gettoken")
    expect(first["uid"], equals: login["uid"])
    expect(first["provider1"], equals: "login.example.app")
    expect(first["token1"], equals: "carol")
    expect(first["signature"]?.count, equals: 64)
    let identity = try #require(try host.identity())
    expect(try host.issued(host.credentials())["IdentityId"]?.text, equals: identity)
    // The next token is asked for with the identity.
    try host.ask(#"{"op":"token","min_ttl":899,"wait":30}"#)
    try host.sandbox.plan(#"{"Service":"cognito","Kind":"expiredToken"}"#)
    expect(try host.credentials(refresh: true)["AccessKeyId"] != nil)
    expect(try host.sandbox.lastForm("gettoken")["identityId"], equals: identity)
    expect(!host.log.contains("secret123"))
  }

  @Test
  func duplicateRegistrationIsTheServersToRefuse() throws {
    let host = try host()
    try register("carol", host)
    let again = try host.sandbox.call(
      "GET", "/sample/registeruser?username=carol&password=secret123")
    expect(again.hasPrefix("HTTP/1.1 406 "))
    expect(try logIn("carol", host).status, equals: 0)
  }

  @Test
  func wrongPasswordIsRefused() throws {
    let host = try host()
    try register("carol", host)
    let refused = try host.credctl(
      input: "secret124\n", "login", "--username", "carol", "--password-stdin")
    expect(refused.status, equals: 77)
    expect(refused.errors.contains("check user name and password"))
    expect(try host.state(), equals: "signedOut")
    expect(try host.sandbox.calls("sample.gettoken"), equals: 0)
  }

  @Test
  func passwordThatTheServerCouldNotHaveIsNotSent() throws {
    let host = try host()
    let refused = try host.logIn("carol", password: "short")
    expect(refused["Error"] != nil)
    expect(try host.sandbox.allCalls, equals: 0)
  }

  @Test
  func keyThatTheServerForgotTakesASignIn() throws {
    let host = try host()
    try register("carol", host)
    _ = try logIn("carol", host)
    let identity = try host.identity()
    try host.sandbox.control("POST", "revoke", #"{"User":"carol"}"#)
    let waiting = try host.beginToAsk(#"{"refresh":true,"wait":120}"#)
    try Deadline.usual.wait(for: "the sign-in to be lost") {
      try host.state() == "tokensInvalid"
    }
    expect(try logIn("carol", host).status, equals: 0)
    expect(try waiting.reply()["AccessKeyId"] != nil)
    expect(try host.identity(), equals: identity)
  }

  @Test
  func answerForAnotherPoolIsRefused() throws {
    let host = try host()
    try register("carol", host)
    try host.sandbox.plan(#"{"Service":"sample","Operation":"gettoken","Kind":"wrongPool"}"#)
    let refused = try host.logIn("carol", password: "secret123")
    expect(refused.errorCode, equals: "PoolMisconfigured", "\(refused)")
    expect(refused["IdentityId"] == nil)
  }
}
