import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// Attacks on sign-ins by browser, at the sandbox's strict provider, through the real daemon. None ends
/// in a session.
@Suite(.onStage)
struct ProviderAttackTests {
  /// A stranger's code, which was given for another proof (PKCE).
  @Test func aCodeThatSomebodyElseBeganSignsNobodyIn() throws {
    let host = try ProviderHost()
    let victim = try host.logIn()
    try host.provider(#""SignedInAs":"bob""#)
    // Another client of the same provider, with a verifier of its own.
    let url = try #require(victim["Challenge"]?["Parameters"]?["Url"]?.text)
    let start = try #require(url.range(of: "code_challenge=")).upperBound
    let end = url[start...].firstIndex(of: "&") ?? url.endIndex
    let stranger = url.replacingCharacters(
      in: start..<end, with: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
    let response = try host.browse(url: stranger)
    let reply = try host.respond(victim, response)
    expect(reply.errorCode, equals: "SignInFailed", "\(reply)")
    expect(reply["Error"]?["Reason"]?.text, equals: "InvalidGrant")
    expect(try host.ask(#"{"op":"identity"}"#).state, equals: "signedOut")
    // And the code is of no use to the stranger any more.
    expect(try host.host.sandbox.control("GET", "oidc")["Sessions"]?.number, equals: 0)
  }

  /// The code was used before: the provider ends what came of it (RFC 6749, 4.1.2).
  @Test func aCodeThatComesTwiceEndsWhatCameOfIt() throws {
    let host = try ProviderHost()
    let asked = try host.logIn()
    let response = try host.browse(asked)
    expect(try host.respond(asked, response).state, equals: "signedIn")
    let code = try #require(
      response.split(separator: "&").first { $0.hasPrefix("code=") }?.dropFirst(5))
    let next = try host.logIn()
    let state = try #require(next["Challenge"]?["Parameters"]?["State"]?.text)
    let issuer = response.split(separator: "&").first { $0.hasPrefix("iss=") } ?? ""
    let reply = try host.respond(next, "code=\(code)&state=\(state)&\(issuer)")
    expect(reply.errorCode, equals: "SignInFailed", "\(reply)")
    expect(try host.host.sandbox.control("GET", "oidc")["Sessions"]?.number, equals: 0)
    // The session that there was learns of it at its next renewal, and says so.
    let renewed = try host.ask(#"{"refresh":true,"wait":10}"#)
    expect(renewed.errorCode, equals: "SignInRequired", "\(renewed)")
    expect(try host.ask(#"{"op":"identity"}"#).state, equals: "tokensInvalid")
  }

  @Test func aBrowserSignedInAsAnotherPersonIsRefused() throws {
    let host = try ProviderHost("require.preferred_username = carol")
    let reply = try host.signIn()
    expect(reply.errorCode, equals: "SignInFailed", "\(reply)")
    expect(reply["Error"]?["Message"]?.text?.contains("preferred_username") == true)
    expect(try host.ask(#"{"op":"identity"}"#).state, equals: "signedOut")
    expect(try host.host.sandbox.calls("cognito.GetId"), equals: 0)
  }

  /// What a provider says is shown, and commands nothing.
  @Test func anErrorOfTheProviderHasNoControlCharacters() throws {
    let host = try ProviderHost()
    let asked = try host.logIn()
    try host.provider(#""ErrorResponse":1"#)
    let reply = try host.respond(asked, try host.browse(asked))
    let message = try #require(reply["Error"]?["Message"]?.text)
    expect(message.contains("The user said no"))
    expect(message.unicodeScalars.allSatisfy { $0.value >= 0x20 })
  }

  /// A reply that is lost after the provider has done its work is asked for once more.
  @Test func aLostReplyAtAProviderWithGraceCostsNothing() throws {
    let host = try ProviderHost()
    try host.host.sandbox.control(
      "POST", "oidc/client", #"{"ClientId":"sandbox-public","Rotation":"on","Grace":60}"#)
    expect(try host.signIn().state, equals: "signedIn")
    try host.host.sandbox.plan(#"{"Service":"oidc","Operation":"token","Kind":"truncate"}"#)
    let key = try host.ask(#"{"refresh":true,"wait":120}"#)["AccessKeyId"]?.text
    expect(key != nil)
    expect(try host.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
    expect(try host.misuses?["RenewalsInGrace"]?.number, equals: 1)
  }

  /// Without a grace the session is lost, and its user is told so at once.
  @Test func aLostReplyWithoutGraceEndsTheSession() throws {
    let host = try ProviderHost()
    expect(try host.signIn().state, equals: "signedIn")
    try host.host.sandbox.plan(#"{"Service":"oidc","Operation":"token","Kind":"truncate"}"#)
    let reply = try host.ask(#"{"refresh":true,"wait":20}"#)
    expect(reply.errorCode, equals: "SignInRequired", "\(reply)")
    expect(reply["Error"]?["Message"]?.text?.contains("was lost") == true, "\(reply)")
    expect(try host.ask(#"{"op":"identity"}"#).state, equals: "tokensInvalid")
    // It is not asked again and again.
    let calls = try host.host.sandbox.calls("oidc.token")
    _ = try host.ask(#"{"refresh":true,"wait":0}"#)
    expect(try host.host.sandbox.calls("oidc.token"), equals: calls)
  }

  /// Answers of every hostile kind at the token endpoint: nobody is signed in, and nothing stops.
  @Test(arguments: ["oversize", "malformed", "html", "redirect", "status", "throttle"])
  func hostileAnswersSignNobodyInAndNobodyOut(_ kind: String) throws {
    let host = try ProviderHost()
    let asked = try host.logIn()
    let response = try host.browse(asked)
    let fault = #"{"Service":"oidc","Operation":"token","Kind":"\#(kind)","Count":-1}"#
    try host.host.sandbox.plan(fault)
    expect(try host.respond(asked, response).errorCode != nil)
    expect(try host.ask(#"{"op":"identity"}"#).state, equals: "signedOut")
    try host.host.sandbox.clearFaults()
    expect(try host.signIn().state, equals: "signedIn")
    try host.host.sandbox.plan(fault)
    _ = try host.ask(#"{"refresh":true,"wait":1}"#)
    expect(try host.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
    try host.host.sandbox.clearFaults()
  }

  @Test(arguments: ["oversize", "malformed", "html", "redirect", "status"])
  func aDiscoveryDocumentThatIsNoneIsNotBelieved(_ kind: String) throws {
    let host = try ProviderHost()
    try host.host.sandbox.plan(
      #"{"Service":"oidc","Operation":"discovery","Kind":"\#(kind)","Count":1}"#)
    let reply = try host.logIn()
    expect(reply.errorCode != nil, "\(reply)")
    expect(try host.signIn().state, equals: "signedIn")
  }
}
