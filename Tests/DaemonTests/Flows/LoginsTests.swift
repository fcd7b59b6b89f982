import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// The logins map: social, OpenID Connect and SAML providers.
@Suite(.onStage)
struct LoginsTests {
  static let google = "accounts.google.com"
  static let facebook = "graph.facebook.com"
  static let issuer = "oidc.example.org/tenant"

  /// Every kind of provider that Cognito takes.
  static let providers = [
    google, facebook, "www.amazon.com", "appleid.apple.com", issuer,
    "cognito-idp.us-east-1.amazonaws.com/us-east-1_Sandbox",
    "arn:aws:iam::123456789012:saml-provider/sandbox",
  ]

  /// A sandbox whose pool has all of them, and a profile without a backend.
  private func host(_ keys: String = "") throws -> TestHost {
    let seed = try Stage.current().newFile("seed.json")
    let known = Self.providers.map { #""\#($0)":"sandbox-client""# }.joined(separator: ",")
    try Data(
      """
      {"Pools": [{"Id": "\(Sandbox.pool)", "DeveloperProvider": "login.example.app",
        "AuthenticatedRole": "\(Configuration.role("authenticated"))",
        "Providers": {\(known)}}]}
      """.utf8
    ).write(to: URL(filePath: seed))
    return try TestHost(sandbox: ["--config", seed]) { Configuration.direct($0, "default", keys) }
  }

  @Test(arguments: providers)
  func everyProviderSignsIn(_ provider: String) throws {
    let host = try host()
    let token = try host.sandbox.token(of: provider, "subject")
    let reply = try host.logIn([provider: token])
    expect(reply["State"]?.text, equals: "signedIn", "\(reply)")
    let credentials = try host.credentials()
    let issued = try host.issued(credentials)
    expect(issued["IdentityId"], equals: reply["IdentityId"])
    expect(issued["RoleArn"]?.text, equals: Configuration.role("authenticated"))
    for operation in ["GetId", "GetCredentialsForIdentity"] {
      expect(
        try host.sandbox.lastBody(operation)["Logins"], equals: .object([provider: .string(token)]))
    }
    // Both were asked once: by the login. What it brought is in the cache.
    expect(try host.sandbox.allCalls, equals: 2)
  }

  @Test
  func credctlTakesTokensFromFilesAndStandardInput() throws {
    let host = try host()
    let file = try Stage.current().newFile("google.jwt")
    try Data(try host.sandbox.token(of: Self.google, "g1").utf8).write(to: URL(filePath: file))
    let facebook = try host.sandbox.token(of: Self.facebook, "f1")
    let outcome = try host.credctl(
      input: facebook + "\n", "login", "--login", "\(Self.google)=@\(file)", "--login",
      "\(Self.facebook)=-", "--json")
    expect(outcome.status, equals: 0, "\(outcome)")
    expect(try JSON(outcome.output)["State"]?.text, equals: "signedIn")
    expect(
      try host.sandbox.lastBody("GetCredentialsForIdentity")["Logins"]?.keys,
      equals: [Self.google, Self.facebook])
  }

  struct Refusal: CustomTestStringConvertible {
    let name: String
    let provider: String
    let more: String
    let code: String

    var testDescription: String { name }
  }

  static let refusals = [
    Refusal(name: "expired", provider: google, more: #","Lifetime":-60"#, code: "TokenRejected"),
    Refusal(
      name: "expired, opaque", provider: facebook, more: #","Lifetime":-60"#, code: "TokenRejected"),
    Refusal(
      name: "another issuer", provider: google, more: #","Issuer":"https://evil.example""#,
      code: "SignInFailed"),
    Refusal(
      name: "another app", provider: google, more: #","Audience":"other-client""#,
      code: "TokenRejected"),
    Refusal(
      name: "unknown provider", provider: "login.unknown.example", more: "", code: "SignInFailed"),
  ]

  @Test(arguments: refusals)
  func refusedTokenChangesNothing(_ refusal: Refusal) throws {
    let host = try host()
    let good = try host.sandbox.token(of: "www.amazon.com", "a1")
    expect(try host.logIn(["www.amazon.com": good])["State"]?.text, equals: "signedIn")
    let before = try host.credentials()
    let bad = try host.sandbox.token(of: refusal.provider, "x1", refusal.more)
    let refused = try host.logIn([refusal.provider: bad])
    expect(refused.errorCode, equals: refusal.code, "\(refused)")
    expect(refused.errorMessage?.contains(bad) == false)
    expect(try host.state(), equals: "signedIn")
    expect(try host.credentials(), equals: before)
    _ = try host.credentials(refresh: true)
    expect(
      try host.sandbox.lastBody("GetCredentialsForIdentity")["Logins"]?.keys,
      equals: ["www.amazon.com"])
    expect(!host.log.contains(bad.prefix(30)))
  }

  @Test
  func tokensAreReplacedProviderByProvider() throws {
    let host = try host()
    let first = try host.sandbox.token(of: Self.google, "g1")
    let identity = try #require(try host.logIn([Self.google: first])["IdentityId"]?.text)
    let facebook = try host.sandbox.token(of: Self.facebook, "f1")
    expect(try host.logIn([Self.facebook: facebook])["IdentityId"]?.text, equals: identity)
    let second = try host.sandbox.token(of: Self.google, "g1", #","Lifetime":1800"#)
    expect(try host.logIn([Self.google: second])["IdentityId"]?.text, equals: identity)
    expect(
      try host.sandbox.lastBody("GetCredentialsForIdentity")["Logins"],
      equals: .object([Self.google: .string(second), Self.facebook: .string(facebook)]))
    // Forgotten with the session.
    try host.ask(#"{"op":"logout"}"#)
    _ = try host.logIn([Self.facebook: facebook])
    expect(
      try host.sandbox.lastBody("GetCredentialsForIdentity")["Logins"]?.keys,
      equals: [Self.facebook])
  }

  @Test
  func anotherPersonsLoginTakesAWord() throws {
    let host = try host()
    let google = try host.sandbox.token(of: Self.google, "g1")
    let identity = try #require(try host.logIn([Self.google: google])["IdentityId"]?.text)
    let facebook = try host.sandbox.token(of: Self.facebook, "f1")
    _ = try host.logIn([Self.facebook: facebook])
    let calls = try host.sandbox.allCalls
    let file = try Stage.current().newFile("other.jwt")
    let other = try host.sandbox.token(of: Self.google, "g2")
    try Data(other.utf8).write(to: URL(filePath: file))
    let asked = try host.credctlWithoutTerminal("login", "--login", "google=@\(file)")
    expect(asked.status == 77 && asked.output.isEmpty, "\(asked)")
    expect(asked.errors.contains("You signed in as g2 at"), "\(asked)")
    expect(asked.errors.contains("links this account to the identity \(identity) for good"))
    expect(try host.sandbox.allCalls, equals: calls)
    let match = asked.errors.firstMatch(of: /respond ([0-9a-f]{32}) confirm=true/)
    let handle = String(try #require(match).output.1)
    let done = try host.credctl("respond", handle, "confirm=true")
    expect(done.status, equals: 0, "\(done)")
    expect(done.output.hasPrefix("default signedIn "), "\(done)")
    expect(
      try host.sandbox.lastBody("GetCredentialsForIdentity")["Logins"],
      equals: .object([Self.google: .string(other), Self.facebook: .string(facebook)]))
  }

  @Test
  func watcherHearsBeforeALoginRunsOut() throws {
    let host = try host()
    let watcher = try host.watch()
    let token = try host.sandbox.token(of: Self.google, "g1", #","Lifetime":200"#)
    _ = try host.logIn([Self.google: token])
    let event = try watcher.event("degraded")
    expect(event.errorCode, equals: "TokenRejected")
    expect(event.errorMessage?.contains("accounts.google.com runs out in") == true)
  }

  @Test
  func usedUpLoginsWaitForTheNext() throws {
    let host = try host()
    let token = try host.sandbox.token(of: Self.google, "g1")
    let identity = try host.logIn([Self.google: token])["IdentityId"]
    let watcher = try host.watch()
    try host.sandbox.plan(#"{"Service":"cognito","Kind":"expiredToken"}"#)
    let waiting = try host.connect()
    try waiting.send(#"{"refresh":true,"wait":60}"# + "\n")
    expect(try watcher.event("state")["State"]?.text, equals: "tokensInvalid")
    let fresh = try host.sandbox.token(of: Self.google, "g1")
    expect(try host.logIn([Self.google: fresh])["IdentityId"], equals: identity)
    expect(try waiting.reply()["AccessKeyId"] != nil)
    expect(try watcher.event("state")["State"]?.text, equals: "signedIn")
  }

  // MARK: An identity that the app chose, and logins that stand alone

  @Test
  func loginsMayComeWithTheIdentityThatTheAppChose() throws {
    let host = try host()
    let facebook = try host.sandbox.token(of: Self.facebook, "f1")
    let identity = try #require(try host.logIn([Self.facebook: facebook])["IdentityId"]?.text)
    try host.ask(#"{"op":"logout"}"#)
    // The same user on another device, who knows the identity already.
    let before = try host.sandbox.calls("cognito.GetId")
    let reply = try host.logIn(
      [Self.facebook: facebook], profile: "default", #","identity_id":"\#(identity)""#)
    expect(reply["IdentityId"]?.text, equals: identity, "\(reply)")
    expect(try host.sandbox.calls("cognito.GetId"), equals: before)
    // Another person's identity is not for a claim.
    let google = try host.sandbox.token(of: Self.google, "g1")
    let refused = try host.logIn(
      [Self.google: google], profile: "default", #","alone":true,"identity_id":"\#(identity)""#)
    expect(refused.errorCode != nil, "\(refused)")
    expect(try host.identity(), equals: identity)
    // Nor is one accepted on trust while Cognito is away.
    try host.ask(#"{"op":"logout"}"#)
    try host.sandbox.plan(#"{"Service":"cognito","Kind":"status","Status":500,"Count":9}"#)
    let away = try host.logIn(
      [Self.google: google], profile: "default", #","identity_id":"\#(identity)""#)
    expect(away.errorCode, equals: "CognitoUnavailable", "\(away)")
    expect(try host.state(), equals: "signedOut")
    expect(try host.identity() == nil)
  }

  @Test
  func anotherProviderThatStandsAloneIsNotLinked() throws {
    let host = try TestHost { Configuration.usual($0) }
    let own = try #require(try host.issued(host.credentials())["IdentityId"]?.text)
    let google = try host.sandbox.token(of: Self.google, "g1")
    let alone = try host.logIn([Self.google: google], profile: "default", #","alone":true"#)
    expect(alone["State"]?.text, equals: "signedIn", "\(alone)")
    expect(alone["SignedInBy"]?.text, equals: "logins")
    expect(alone["Subject"]?.text, equals: "g1")
    expect(alone["SignedInUntil"]?.text?.timeFromNow != nil)
    let other = try #require(alone["IdentityId"]?.text)
    expect(other != own)
    expect(try host.issued(host.credentials(refresh: true))["IdentityId"]?.text, equals: other)
    expect(try host.sandbox.lastBody("token")["Logins"] == nil)
    // The way back, and nothing of the one is with the other.
    let back = try host.ask(#"{"op":"login"}"#)
    expect(back["IdentityId"]?.text, equals: own, "\(back)")
    expect(back["SignedInBy"]?.text, equals: "host")
    expect(try host.sandbox.lastBody("token")["Logins"] == nil)
    // By credctl too; and the SDK's clearKeychain between two providers.
    let file = try Stage.current().newFile("google.jwt")
    try Data(google.utf8).write(to: URL(filePath: file))
    let outcome = try host.credctl(
      "login", "--login", "\(Self.google)=@\(file)", "--alone", "--identity-id", other, "--json")
    expect(outcome.status, equals: 0, "\(outcome)")
    expect(try JSON(outcome.output)["IdentityId"]?.text, equals: other)
    let cleared = try host.ask(#"{"op":"clear","what":"identity"}"#)
    expect(cleared["State"]?.text == "signedOut" && cleared["IdentityId"] == nil)
    expect(try host.issued(host.credentials())["IdentityId"]?.text, equals: own)
  }

  @Test
  func getCarriesNoLoginsAndSaysSo() throws {
    let host = try TestHost { sandbox in
      Configuration.http(url: sandbox.url + "/token/alice", backend: "method = GET")
        + Configuration.profile("default", endpoint: sandbox.url)
    }
    let google = try host.sandbox.token(of: Self.google, "g1")
    let refused = try host.logIn([Self.google: google])
    expect(refused.errorCode, equals: "InvalidRequest")
    expect(refused.errorMessage?.contains("method = GET") == true)
    expect(try host.sandbox.callbacks, equals: 0)
  }

  @Test
  func severalRolesAndNoneChosenIsSaidToTheUser() throws {
    let host = try host()
    let provider = "arn:aws:iam::123456789012:saml-provider/sandbox"
    let roles = ["one", "two"].map { #""\#(Configuration.role($0))""# }.joined(separator: ",")
    let token = try host.sandbox.token(of: provider, "s1", #","Roles":[\#(roles)]"#)
    let refused = try host.logIn([provider: token])
    expect(refused.errorCode, equals: "SignInFailed", "\(refused)")
    expect(refused.errorMessage?.contains("custom_role_arn") == true)
    expect(try host.state(), equals: "signedOut")
    let chosen = try host.logIn(
      [provider: token], profile: "default", #","custom_role_arn":"\#(Configuration.role("two"))""#)
    expect(chosen["State"]?.text, equals: "signedIn", "\(chosen)")
    expect(try host.issued(host.credentials())["RoleArn"]?.text, equals: Configuration.role("two"))
  }

  // MARK: A token that a file holds

  @Test
  func tokenFileSignsInByItselfAndIsReadAgain() throws {
    let file = try Stage.current().newFile("token")
    let host = try host("web_identity_token_file = \(file)\nweb_identity_provider = \(Self.issuer)")
    let missing = try host.ask()
    expect(missing.errorMessage?.contains(file) == true, "\(missing)")
    expect(try host.sandbox.allCalls, equals: 0)
    var tokens: [String] = []
    for lifetime in [3000, 3600] {
      tokens.append(
        try host.sandbox.token(of: Self.issuer, "pod", #","Lifetime":\#(lifetime)"#))
      try Data((tokens[tokens.count - 1] + "\n").utf8).write(to: URL(filePath: file))
      try Deadline.usual.wait(for: "credentials") {
        try host.ask(#"{"refresh":true,"wait":5}"#)["AccessKeyId"] != nil
      }
      expect(
        try host.sandbox.lastBody("GetCredentialsForIdentity")["Logins"],
        equals: .object([Self.issuer: .string(tokens[tokens.count - 1])]))
    }
    expect(tokens[0] != tokens[1])
    expect(try host.state(), equals: "signedIn")
    expect(try host.sandbox.calls("cognito.GetId"), equals: 1)
    // Nor does it sign in silently again after a logout; a bare login brings it back.
    try host.ask(#"{"op":"logout"}"#)
    expect(try host.ask(#"{"wait":0}"#).errorCode, equals: "SignInRequired")
    expect(try host.credctl("login").status, equals: 0)
    expect(try host.credentials()["AccessKeyId"] != nil)
  }

  @Test
  func tokenFileThatIsEmptyIsNamed() throws {
    let file = try Stage.current().newFile("token")
    try Data("\n".utf8).write(to: URL(filePath: file))
    let host = try host("web_identity_token_file = \(file)\nweb_identity_provider = \(Self.issuer)")
    let refused = try host.ask()
    expect(
      refused.errorMessage?.contains("\(file) holds nothing but white space") == true, "\(refused)")
    expect(try host.sandbox.allCalls, equals: 0)
  }

  // MARK: Linking

  @Test
  func backendLinksTheLoginsThatTheCallbackCarries() throws {
    let host = try TestHost {
      Configuration.usual($0) + Configuration.direct($0, "social")
    }
    let identity = try #require(try host.ask(#"{"op":"token"}"#)["IdentityId"]?.text)
    let token = try host.sandbox.token(of: Self.google, "g1")
    let reply = try host.logIn([Self.google: token])
    expect(reply["State"]?.text, equals: "signedIn", "\(reply)")
    expect(
      try host.sandbox.lastBody("token")["Logins"], equals: .object([Self.google: .string(token)]))
    expect(try host.identity(), equals: identity)
    expect(try host.issued(host.credentials())["IdentityId"]?.text, equals: identity)
    // From now on the social login alone leads to the same identity.
    expect(
      try host.logIn([Self.google: token], profile: "social")["IdentityId"]?.text, equals: identity)
  }

  @Test
  func identityThatResultsFromLinkingIsAdopted() throws {
    let host = try TestHost {
      Configuration.usual($0) + Configuration.direct($0, "social")
    }
    let token = try host.sandbox.token(of: Self.google, "g1")
    let known = try #require(
      try host.logIn([Self.google: token], profile: "social")["IdentityId"]?.text)
    // Alice has no identity yet: she gets the one of her social login.
    expect(try host.logIn([Self.google: token])["IdentityId"]?.text, equals: known)
    expect(try host.issued(host.credentials())["IdentityId"]?.text, equals: known)
  }

  @Test
  func loginOfAnotherIdentityIsAConflict() throws {
    let host = try TestHost {
      Configuration.usual($0) + Configuration.direct($0, "social")
    }
    let token = try host.sandbox.token(of: Self.google, "g1")
    _ = try host.logIn([Self.google: token], profile: "social")
    let before = try host.credentials()
    let identity = try host.identity()
    let refused = try host.logIn([Self.google: token])
    expect(refused.errorCode, equals: "IdentityConflict", "\(refused)")
    expect(try host.identity(), equals: identity)
    expect(try host.credentials(), equals: before)
    expect(try host.credentials(refresh: true)["AccessKeyId"] != nil)
  }
}
