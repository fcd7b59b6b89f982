import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// Sign-ins by browser and by device code at the sandbox's provider, through the real daemon.
@Suite(.onStage)
struct ProviderSignInTests {
  @Test func aBrowserSignsInAndCredentialsFollow() throws {
    let host = try ProviderHost()
    let reply = try host.signIn()
    expect(reply.state, equals: "signedIn", "\(reply)")
    expect(reply["SignedInBy"]?.text, equals: "oidc")
    expect(reply["Username"]?.text, equals: "alice")
    let key = try #require(try host.ask("{}")["AccessKeyId"]?.text)
    let grant = try host.host.sandbox.control("GET", "issued?AccessKeyId=\(key)")
    let name = "127.0.0.1:\(host.host.sandbox.port)/oidc"
    expect(grant["Logins"]?[name], equals: .array([.string("sandbox|alice")]), "\(grant)")
  }

  @Test(arguments: ["none", "client_secret_basic", "client_secret_post"])
  func eachWayToProveTheClientWorks(_ way: String) throws {
    let secret = try Stage.current().newFile("secret")
    try Data("a-secret-of-letters-1\n".utf8).write(to: URL(filePath: secret))
    let method = ["client_secret_basic": "basic", "client_secret_post": "post"][way]
    let host = try ProviderHost(
      method.map { "client_authentication = \($0)\nclient_secret_file = \(secret)" } ?? "")
    try host.host.sandbox.control(
      "POST", "oidc/client",
      #"{"ClientId":"sandbox-public","ClientSecret":"a-secret-of-letters-1","Authentication":"\#(way)"}"#
    )
    expect(try host.signIn().state, equals: "signedIn")
  }

  @Test(arguments: ["genrsa", "ecparam -name prime256v1 -genkey -noout"])
  func aKeyProvesTheClient(_ command: String) throws {
    let key = try Stage.current().newFile("key")
    let words = command.split(separator: " ").map(String.init)
    let openssl = try ChildProcess(["/usr/bin/openssl"] + words + ["-out", key])
    try #require(try openssl.wait() == 0)
    let host = try ProviderHost(
      "client_authentication = private-key-jwt\nclient_assertion_key_file = \(key)")
    let pem = try String(contentsOfFile: key, encoding: .utf8).replacing("\n", with: "\\n")
    try host.host.sandbox.control(
      "POST", "oidc/client",
      #"{"ClientId":"sandbox-public","Key":"\#(pem)","Authentication":"private_key_jwt"}"#)
    expect(try host.signIn().state, equals: "signedIn")
    expect(try host.ask(#"{"refresh":true,"wait":120}"#)["AccessKeyId"]?.text != nil)
  }

  @Test(arguments: ["Nonce", "Audience", "AuthorizedParty", "Issuer", "Expired", "Unsigned"])
  func aTokenThatIsNotForThisSignInIsRefused(_ lie: String) throws {
    let host = try ProviderHost()
    let asked = try host.logIn()
    let response = try host.browse(asked)
    try host.provider("\"\(lie)\":1")
    let reply = try host.respond(asked, response)
    expect(reply.errorCode, equals: "TokenRejected", "\(lie): \(reply)")
    expect(try host.ask(#"{"op":"identity"}"#).state, equals: "signedOut")
  }

  @Test(arguments: ["ResponseIssuer", "NoResponseIssuer", "SecondCode", "ErrorResponse"])
  func aResponseThatIsNotTheProvidersEndsTheSignIn(_ lie: String) throws {
    let host = try ProviderHost()
    let asked = try host.logIn()
    try host.provider("\"\(lie)\":1")
    let reply = try host.respond(asked, try host.browse(asked))
    expect(reply.errorCode, equals: "SignInFailed", "\(lie): \(reply)")
    expect(try host.host.sandbox.calls("oidc.token"), equals: 0)
  }

  @Test func aDiscoveryDocumentOfAnotherIssuerIsRefused() throws {
    let host = try ProviderHost()
    try host.provider("\"Discovery\":1")
    let reply = try host.logIn()
    expect(reply.errorCode, equals: "PoolMisconfigured", "\(reply)")
    expect(reply["Error"]?["Message"]?.text?.contains("evil.example") == true)
    expect(try host.signIn().state, equals: "signedIn")
  }

  @Test func aDeviceCodeSignsIn() throws {
    let host = try ProviderHost()
    try host.provider(#""DeviceInterval":1"#)
    let asked = try host.ask(#"{"op":"login","device":true}"#)
    let code = try #require(
      asked["Challenge"]?["Parameters"]?["UserCode"]?.text, "\(asked)")
    let socket = try host.host.connect()
    try socket.send(
      #"{"op":"respond","handle":"\#(asked.handle ?? "")","wait":60}"# + "\n")
    try host.waitForResponse(to: asked.handle ?? "")
    try host.host.sandbox.control(
      "POST", "oidc/device", #"{"UserCode":"\#(code)","As":"bob"}"#)
    let reply = try socket.reply()
    expect(reply.state, equals: "signedIn", "\(reply)")
    expect(reply["Username"]?.text, equals: "bob")
    expect(try host.ask("{}")["AccessKeyId"]?.text != nil)
    expect(try host.misuses?["RepeatedEarlyPolls"] == nil)
  }

  /// A script that cannot show a question waits with `respond --wait`.
  @Test func credctlWaitsForWhatIsTypedElsewhere() throws {
    let host = try ProviderHost()
    try host.provider(#""DeviceInterval":1"#)
    let asked = try host.ask(#"{"op":"login","device":true}"#)
    let handle = try #require(asked.handle, "\(asked)")
    let code = try #require(asked["Challenge"]?["Parameters"]?["UserCode"]?.text)
    // Nobody has typed it: the same question, under the same handle.
    let early = try host.host.credctl("respond", handle, "--wait", "1", "--json")
    expect(early.status == 77 && early.errors.contains("credctl respond"), "\(early)")
    expect(try JSON(early.output).handle, equals: handle)
    let waiting = try ChildProcess(
      [Programs.credctl, "--socket", host.host.socketPath, "respond", handle, "--wait", "60"])
    try host.waitForResponse(to: handle)
    try host.host.sandbox.control(
      "POST", "oidc/device", #"{"UserCode":"\#(code)","As":"bob"}"#)
    expect(try waiting.wait(), equals: 0, "\(waiting.errors)")
    expect(waiting.output.hasPrefix("default signedIn "), "\(waiting.output)")
    expect(try host.ask(#"{"op":"identity"}"#)["Username"]?.text, equals: "bob")
    let late = try host.host.credctl("respond", handle, "--wait", "1")
    expect(late.status == 77 && late.output.isEmpty, "\(late)")
  }

  @Test func aLogoutEndsTheSessionAtTheProvider() throws {
    let host = try ProviderHost()
    _ = try host.signIn()
    let reply = try host.ask(#"{"op":"logout"}"#)
    expect(reply.state, equals: "signedOut")
    expect(reply["LogoutUrl"]?.text?.hasPrefix(host.host.sandbox.url + "/oidc/logout?") == true)
    try Deadline.usual.wait(for: "the revocation") {
      try host.host.sandbox.control("GET", "oidc")["Sessions"]?.number == 0
    }
  }

  /// No code, verifier, token or secret stands in the journal.
  @Test func nothingSecretIsLogged() throws {
    let host = try ProviderHost()
    let asked = try host.logIn()
    let response = try host.browse(asked)
    expect(try host.respond(asked, response).state, equals: "signedIn")
    _ = try host.ask(#"{"refresh":true,"wait":20}"#)
    let parts = response.split(separator: "&").map { $0.split(separator: "=").last ?? "" }
    for part in parts where part.utf8.count > 20 && !part.contains("%") {
      expect(!host.host.log.contains(String(part)), "\(part)")
    }
    expect(!host.host.log.contains("rt_"))
  }

  // MARK: Hosted UI

  @Test func theHostedUIGivesASessionOfItsPool() throws {
    let host = try ProviderHost(hostedUI: "")
    let reply = try host.signIn()
    expect(reply.state, equals: "signedIn", "\(reply)")
    expect(reply["SignedInBy"]?.text, equals: "userPool")
    expect(reply["Username"]?.text, equals: "alice")
    expect(try host.ask("{}")["AccessKeyId"]?.text != nil)
    // It is renewed and ended like any other session of the pool.
    expect(try host.ask(#"{"refresh":true,"wait":120}"#)["AccessKeyId"]?.text != nil)
    expect(try host.ask(#"{"op":"logout"}"#).state, equals: "signedOut")
    try Deadline.usual.wait(for: "the revocation") {
      try host.host.sandbox.calls("cognito-idp.RevokeToken") == 1
    }
  }

  @Test func aUserPoolHasNoDeviceCodes() throws {
    let host = try ProviderHost(hostedUI: "")
    let reply = try host.ask(#"{"op":"login","device":true}"#)
    expect(reply.errorCode, equals: "InvalidRequest")
    expect(reply["Error"]?["Message"]?.text?.contains("no device codes") == true)
  }

  @Test func aClientChoosesAmongTheProvidersOfAPool() throws {
    let host = try ProviderHost(hostedUI: "identity_provider = Okta COGNITO")
    func url(_ choice: String) throws -> String? {
      let browser = #"{"redirect_uri":"http://localhost:8976/"\#(choice)}"#
      let reply = try host.ask(#"{"op":"login","browser":\#(browser)}"#)
      return reply["Challenge"]?["Parameters"]?["Url"]?.text ?? reply.errorCode
    }
    expect(try url("")?.contains("identity_provider=Okta") == true)
    expect(
      try url(#","identity_provider":"COGNITO""#)?.contains("identity_provider=COGNITO") == true)
    expect(try url(#","identity_provider":"Facebook""#), equals: "InvalidRequest")
  }

  @Test func aUserWhoIsSignedInThereIsAskedAnew() throws {
    let host = try ProviderHost()
    let browser = #"{"redirect_uri":"\#(ProviderHost.redirectURI)","prompt":"login"}"#
    let asked = try host.ask(#"{"op":"login","browser":\#(browser)}"#)
    let url = try #require(asked["Challenge"]?["Parameters"]?["Url"]?.text)
    expect(url.contains("&prompt=login"))
    // The browser's own session at the provider is not enough.
    let page = try host.page(url: url)
    expect(page.hasPrefix("HTTP/1.1 200 ") && page.contains(#"type="password""#), "\(page)")
    let usual = try #require(try host.logIn()["Challenge"]?["Parameters"]?["Url"]?.text)
    expect(try host.page(url: usual).hasPrefix("HTTP/1.1 302 "))
  }
}
