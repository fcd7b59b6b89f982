import TestSupport
import Testing

@testable import DaemonHarness

/// A developer token that the caller has already.
@Suite(.onStage)
struct TokenAtHandTests {
  /// A host whose profile `default` has no backend, and `corp` the usual one to take tokens from.
  private func host() throws -> TestHost {
    try TestHost { sandbox in
      Configuration.http(url: sandbox.url + "/token")
        + Configuration.profile("corp", endpoint: sandbox.url)
        + Configuration.direct(sandbox)
    }
  }

  private func token(_ host: TestHost) throws -> (identity: String, token: String) {
    let reply = try host.ask(#"{"op":"token","profile":"corp","min_ttl":890,"wait":30}"#)
    return (
      try #require(reply["IdentityId"]?.text, "\(reply)"), try #require(reply["Token"]?.text)
    )
  }

  private func logIn(
    _ host: TestHost, _ identity: String, _ token: String
  ) throws -> JSON {
    try host.ask(#"{"op":"login","identity_id":"\#(identity)","token":"\#(token)"}"#)
  }

  @Test
  func tokenAtHandSignsInWithItsIdentity() throws {
    let host = try host()
    let (identity, token) = try token(host)
    let outcome = try host.credctl(
      input: token + "\n", "login", "--identity-id", identity, "--token-stdin")
    expect(outcome.status, equals: 0, "\(outcome)")
    expect(outcome.output.hasPrefix("default signedIn \(identity) by token"), "\(outcome)")
    expect(try host.issued(host.credentials())["IdentityId"]?.text, equals: identity)
    expect(
      try host.sandbox.lastBody("GetCredentialsForIdentity")["Logins"],
      equals: .object(["cognito-identity.amazonaws.com": .string(token)]))
    // Cognito refuses its own tokens in GetId.
    expect(try host.sandbox.calls("cognito.GetId"), equals: 0)
    expect(!host.log.contains(token.prefix(40)))
  }

  @Test
  func identityIdIsRequired() throws {
    let host = try host()
    let (identity, token) = try token(host)
    try host.sandbox.control("POST", "reset-stats")
    for line in [
      #"{"op":"login","token":"\#(token)"}"#, #"{"op":"login","identity_id":"\#(identity)"}"#,
      #"{"op":"login","logins":{"cognito-identity.amazonaws.com":"\#(token)"}}"#,
    ] {
      let refused = try host.ask(line)
      expect(refused.errorCode, equals: "InvalidRequest", "\(refused)")
      expect(refused.errorMessage?.contains("identity_id") == true || !line.contains("logins"))
    }
    expect(try host.credctl("login", "--token-stdin").status, equals: 64)
    expect(try host.sandbox.allCalls, equals: 0)
  }

  @Test
  func usedUpTokenIsReplacedByTheNextLogin() throws {
    let host = try host()
    let (identity, first) = try token(host)
    _ = try logIn(host, identity, first)
    try host.sandbox.plan(#"{"Service":"cognito","Kind":"expiredToken"}"#)
    let waiting = try host.beginToAsk(#"{"refresh":true,"wait":120}"#)
    try Deadline.usual.wait(for: "the token to be refused") {
      try host.state() == "tokensInvalid"
    }
    expect(try host.ask(#"{"refresh":true,"wait":0}"#).errorCode, equals: "SignInRequired")
    expect(try logIn(host, identity, self.token(host).token)["State"]?.text, equals: "signedIn")
    expect(try waiting.reply()["AccessKeyId"] != nil)
  }

  @Test
  func tokenOfAnotherIdentityIsRefused() throws {
    let host = try host()
    let (identity, token) = try token(host)
    expect(try logIn(host, identity, token)["State"]?.text, equals: "signedIn")
    let before = try host.credentials()
    let stranger = "us-east-1:00000000-0000-4000-8000-000000000000"
    expect(try logIn(host, stranger, token)["Error"] != nil)
    expect(try logIn(host, identity, "garbage").errorCode, equals: "TokenRejected")
    expect(try host.identity(), equals: identity)
    expect(try host.credentials(), equals: before)
  }

  // MARK: From one kind of sign-in to another

  @Test
  func socialLoginAfterADeveloperTokenIsAnotherIdentity() throws {
    let host = try host()
    let (identity, token) = try token(host)
    _ = try logIn(host, identity, token)
    let watcher = try host.watch()
    let google = try host.sandbox.token(of: "accounts.google.com", "g1")
    let reply = try host.logIn(["accounts.google.com": google])
    expect(reply["State"]?.text, equals: "signedIn", "\(reply)")
    expect(reply["IdentityId"] != .string(identity))
    expect(try watcher.event("identityChanged")["IdentityId"], equals: reply["IdentityId"])
    expect(
      try host.sandbox.lastBody("GetCredentialsForIdentity")["Logins"]?.keys,
      equals: ["accounts.google.com"])
    expect(try host.issued(host.credentials())["IdentityId"], equals: reply["IdentityId"])
    // And back.
    expect(try logIn(host, identity, token)["IdentityId"]?.text, equals: identity)
    expect(
      try host.sandbox.lastBody("GetCredentialsForIdentity")["Logins"]?.keys,
      equals: ["cognito-identity.amazonaws.com"])
  }

  @Test
  func anotherSocialUserIsAnotherIdentity() throws {
    let host = try host()
    func logIn(_ subject: String) throws -> JSON {
      let token = try host.sandbox.token(of: "accounts.google.com", subject)
      return try host.logIn(["accounts.google.com": token])
    }
    let first = try logIn("g1")
    let watcher = try host.watch()
    let second = try logIn("g2")
    expect(second["State"]?.text, equals: "signedIn", "\(second)")
    expect(second["IdentityId"] != first["IdentityId"])
    expect(try watcher.event("identityChanged")["IdentityId"], equals: second["IdentityId"])
    expect(try host.issued(host.credentials())["IdentityId"], equals: second["IdentityId"])
  }
}
