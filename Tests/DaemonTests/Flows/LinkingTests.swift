import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// Sign-ins by browser that the backend links to its own user, with a provider whose tokens the
/// identity pool verifies.
@Suite(.onStage)
struct LinkingTests {
  private func confirm(_ host: ProviderHost, _ asked: JSON) throws -> JSON {
    let handle = try #require(asked.handle, "\(asked)")
    return try host.ask(
      #"{"op":"respond","handle":"\#(handle)","answers":{"confirm":true}}"#)
  }

  /// The logins of the last callback.
  private func logins(_ host: ProviderHost) throws -> JSON? {
    let body = try host.host.sandbox.lastRequest("backend.token")["Body"]?.text ?? ""
    return try JSON(body)["Logins"]
  }

  @Test func aSignInIsLinkedToTheBackendsUser() throws {
    let host = try ProviderHost(linking: "")
    let name = "127.0.0.1:\(host.host.sandbox.port)/oidc"
    expect(try host.ask("{}")["AccessKeyId"]?.text != nil)
    let identity = try host.ask(#"{"op":"identity"}"#)["IdentityId"]?.text
    let asked = try host.signIn()
    expect(asked["Challenge"]?["Step"]?.text, equals: "confirm", "\(asked)")
    expect(asked["Challenge"]?["Parameters"]?["LinksTo"]?.text, equals: identity)
    expect(try logins(host)?[name] == nil)
    let reply = try confirm(host, asked)
    expect(reply.state, equals: "signedIn", "\(reply)")
    expect(reply["IdentityId"]?.text, equals: identity)
    expect(reply["SignedInBy"]?.text, equals: "host")
    expect(reply["Subject"]?.text, equals: "sandbox|alice")
    expect(try logins(host)?[name]?.text?.hasPrefix("ey") == true)
    // The next callback brings it again, and the provider is asked for nothing while it is fresh.
    let calls = try host.host.sandbox.calls("oidc.token")
    expect(try host.ask(#"{"refresh":true,"wait":120}"#)["AccessKeyId"]?.text != nil)
    expect(try logins(host)?[name]?.text?.hasPrefix("ey") == true)
    expect(try host.host.sandbox.calls("oidc.token"), equals: calls)
  }

  @Test func aLogoutRevokesTheLinkedSignIn() throws {
    let host = try ProviderHost(linking: "")
    expect(try confirm(host, try host.signIn()).state, equals: "signedIn")
    let reply = try host.ask(#"{"op":"logout"}"#)
    expect(reply["LogoutUrl"]?.text?.hasPrefix(host.host.sandbox.url + "/oidc/logout?") == true)
    try Deadline.usual.wait(for: "the revocation") {
      try host.host.sandbox.control("GET", "oidc")["Sessions"]?.number == 0
    }
  }

  @Test func credctlGetsTokensOfTheLinkedAccount() throws {
    let host = try ProviderHost(linking: "vend_tokens = id access")
    let none = try host.host.credctl("token", "--kind", "id")
    expect(none.status != 0 && none.errors.contains("is linked to this session"), "\(none)")
    expect(try confirm(host, try host.signIn()).state, equals: "signedIn")
    let calls = try host.host.sandbox.calls("oidc.token")
    let id = try host.host.credctl("token", "--kind", "id")
    let token = try JSON(id.output)["Token"]?.text
    expect(
      token, equals: try logins(host)?["127.0.0.1:\(host.host.sandbox.port)/oidc"]?.text, "\(id)")
    let access = try JSON(host.host.credctl("token", "--kind", "access").output)["Token"]?.text
    let developer = try JSON(host.host.credctl("token").output)["Token"]?.text
    expect(Set([token, access, developer].compactMap(\.self)).count, equals: 3)
    expect(try host.host.sandbox.calls("oidc.token"), equals: calls)
    // A new one comes of the refresh token, without a callback.
    let callbacks = try host.host.sandbox.callbacks
    let renewed = try host.ask(#"{"op":"token","kind":"id","refresh":true,"wait":60}"#)
    expect(renewed["Token"] != nil && renewed["Token"]?.text != token, "\(renewed)")
    expect(try host.host.sandbox.calls("oidc.token"), equals: calls + 1)
    expect(try host.host.sandbox.callbacks, equals: callbacks)
  }

  @Test func theOwnAccountAloneIsLinked() throws {
    let host = try ProviderHost(linking: "")
    try host.host.configure { sandbox in
      Configuration.usual(sandbox, profile: "link_backend = credd") + """
        [backend credd]
        type = oidc
        timeout = 60s
        issuer = \(sandbox.url)/oidc
        client_id = sandbox-public
        redirect_uri = http://127.0.0.1/
        require.preferred_username = carol

        """
    }
    try host.host.reload()
    let reply = try host.signIn()
    expect(reply.errorCode, equals: "SignInFailed", "\(reply)")
    expect(try host.host.sandbox.callbacks, equals: 0)
  }
}
