import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// Sign-ins at providers that nobody here wrote, by a real browser, to AWS credentials: the sandbox's
/// identity pool verifies the ID tokens by the keys that the provider publishes.
@Suite(.onStage, .enabled(if: RealProvider.isWanted, "left out by CREDD_SKIP_REAL_CLIENTS=1"))
struct RealProvidersTests {
  /// The backend waits 30 s: a provider in Python answers late beside a browser that starts, and a code
  /// is sent only once.
  private func host(
    _ provider: RealProvider, redirectURI: String, _ backend: String = ""
  ) throws -> TestHost {
    let host = try TestHost { sandbox in
      """
      [backend idp]
      type = oidc
      timeout = 30s
      issuer = \(provider.issuer)
      client_id = \(provider.client)
      redirect_uri = \(redirectURI)
      sign_in = browser paste device
      scopes = \(provider.scopes)
      \(backend)
      [profile default]
      identity_pool_id = \(Sandbox.pool)
      backend = idp
      cognito_endpoint = \(sandbox.url)

      """
    }
    try host.sandbox.control(
      "POST", "pool",
      #"{"CognitoIdentityProviders":[{"ProviderName":"\#(provider.name)","ClientId":"\#(provider.client)"}]}"#
    )
    let keys = try provider.fetch(try provider.discovered("jwks_uri"))
    let published = try host.sandbox.control(
      "POST", "provider-keys", #"{"ProviderName":"\#(provider.name)","# + keys.dropFirst())
    try #require(published["Keys"]?.number ?? 0 > 0, "\(keys)")
    return host
  }

  private func login(
    _ host: TestHost, _ provider: RealProvider, _ arguments: String...
  ) throws -> TerminalProcess {
    try TerminalProcess(
      [Programs.credctl, "--socket", host.socketPath, "login"] + arguments,
      environment: ["BROWSER": try provider.browser()])
  }

  private func expectSignedIn(
    _ terminal: TerminalProcess, _ host: TestHost, _ provider: RealProvider
  ) throws {
    do {
      try terminal.expect("default signedIn us-east-1:", .in(.seconds(60)))
    } catch {
      Issue.record("\(error); the browser: \(provider.browserLog)")
      throw error
    }
    expect(try terminal.end(), equals: 0, "\(terminal.text)")
    try expectCredentials(host, provider)
  }

  private func expectCredentials(_ host: TestHost, _ provider: RealProvider) throws {
    let reply = try host.ask("{}")
    let key = try #require(reply["AccessKeyId"]?.text, "\(reply)")
    let grant = try host.sandbox.control("GET", "issued?AccessKeyId=\(key)")
    expect(grant["Logins"]?[provider.name] != nil, "\(grant)")
  }

  /// Code with PKCE in Chromium, then renewals with rotation, reuse of an old refresh token by
  /// somebody else, and what the user is told of it.
  @Test func aBrowserSignsInAtNanoidpAndTheSessionRenewsUntilATokenIsStolen() throws {
    let provider = try RealProvider(.nanoidp, redirectURI: "http://127.0.0.1/credd")
    let relay = try Relay(to: provider.issuer)
    let host = try host(
      provider, redirectURI: "http://127.0.0.1/credd",
      "token_endpoint = \(relay.url)/token\nrevocation_endpoint = \(relay.url)/revoke\n")
    try expectSignedIn(try login(host, provider), host, provider)
    expect(try provider.lastPage().contains("You are signed in to the profile default"))
    let code = try #require(try relay.requests.first)
    expect(code["Form"]?["grant_type"]?.text, equals: "authorization_code")
    expect(code["Form"]?["code_verifier"]?.text?.utf8.count, equals: 43)
    for _ in 0..<3 {
      expect(try host.ask(#"{"refresh":true,"wait":20}"#)["AccessKeyId"]?.text != nil)
    }
    let used = try relay.usedRefreshTokens
    // Each token was used once: the provider gives a new one each time.
    expect(used.count >= 3 && Set(used).count == used.count, "\(used.count)")
    // A thief shows an old one: the provider ends the whole family.
    let stolen = try provider.fetch(
      provider.issuer + "/token",
      form: "grant_type=refresh_token&client_id=\(provider.client)&refresh_token=\(used[0])")
    expect(stolen.contains("invalid_grant"), "\(stolen)")
    let refused = try host.refusal(#"{"refresh":true,"wait":20}"#)
    expect(
      refused.errorCode == "SignInRequired" || refused.errorCode == "SignInFailed", "\(refused)")
    expect(try host.state(), equals: "tokensInvalid")
    // The user signs in again, and is signed in as before.
    try expectSignedIn(try login(host, provider), host, provider)
    let last = try #require(try relay.requests.last?["Reply"]?.text)
    let refresh = try #require(try JSON(last)["refresh_token"]?.text)
    expect(try host.ask(#"{"op":"logout"}"#).state, equals: "signedOut")
    try Deadline.usual.wait(for: "the revocation") {
      try relay.requests.contains {
        $0["Path"]?.text == "/revoke" && $0["Form"]?["token"]?.text == refresh
          && $0["Status"]?.number == 200
      }
    }
    let revoked = try provider.fetch(
      provider.issuer + "/token",
      form: "grant_type=refresh_token&client_id=\(provider.client)&refresh_token=\(refresh)")
    expect(revoked.contains("invalid_grant"), "\(revoked)")
  }

  @Test func aDeviceCodeSignsInAtNanoidp() throws {
    let provider = try RealProvider(.nanoidp, redirectURI: "http://127.0.0.1/credd")
    let host = try host(provider, redirectURI: "http://127.0.0.1/credd")
    let terminal = try login(host, provider, "--device")
    try terminal.expect("Ctrl-C ends the sign-in.")
    let code = try #require(terminal.text.firstMatch(of: /\n  ([A-Z0-9]{8})\n/)).output.1
    try provider.visit(
      "\(try provider.discovered("issuer"))/device?user_code=\(code)", until: "Device authorized")
    try expectSignedIn(terminal, host, provider)
    expect(try host.ask(#"{"refresh":true,"wait":20}"#)["AccessKeyId"]?.text != nil)
  }

  /// It gives no ID token with a renewal, without which an identity pool gives nothing.
  @Test func aBrowserSignsInAtGlewlwydWhichRenewsNoIDToken() throws {
    let redirectURI = "http://127.0.0.1:\(try FreePort.any())/credd"
    let provider = try RealProvider(.glewlwyd, redirectURI: redirectURI)
    let host = try host(provider, redirectURI: redirectURI)
    try expectSignedIn(try login(host, provider), host, provider)
    expect(try provider.lastPage().contains("You are signed in to the profile default"))
    let refused = try host.refusal(#"{"refresh":true,"wait":20}"#)
    expect(refused.errorCode != nil, "\(refused)")
    expect(refused["Error"]?["Message"]?.text?.contains("ID token") == true, "\(refused)")
  }

  @Test func aDeviceCodeSignsInAtGlewlwyd() throws {
    let redirectURI = "http://127.0.0.1:\(try FreePort.any())/credd"
    let provider = try RealProvider(.glewlwyd, redirectURI: redirectURI)
    let host = try host(provider, redirectURI: redirectURI)
    let terminal = try login(host, provider, "--device")
    try terminal.expect("Ctrl-C ends the sign-in.")
    let code = try #require(terminal.text.firstMatch(of: /\n  ([A-Z0-9]{4}-[A-Z0-9]{4})\n/)).output
      .1
    try provider.visit(
      "\(provider.issuer)/device?code=\(code)", until: "Authorization complete")
    try expectSignedIn(terminal, host, provider)
  }
}
