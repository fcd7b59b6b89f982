import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Sign-ins at a user pool by name and password, which the backend links to its own user.
struct PoolLinkingTests {
  private static let login = #"{"op":"login","username":"alice","password":"pass-word"}"#
  private static let key = "cognito-idp.us-east-1.amazonaws.com/\(ScriptedPool.id)"

  /// A backend, and a user pool without a Hosted UI whose sign-ins it links.
  private static func text(corp: String = "", pool: String = "") -> String {
    Configured.http(backend: corp)
      + Configured.scriptedPool(backend: pool).replacing(
        "backend = staff\ncognito",
        with: """
          backend = corp
          link_backend = staff
          developer_provider = login.example.app
          user_identifier = alice
          cognito
          """)
  }

  private func fixture(
    _ text: String = text()
  ) throws -> (fixture: ServiceFixture, pool: ScriptedPool) {
    let fixture = try ServiceFixture(text)
    return (fixture, ScriptedPool(fixture))
  }

  /// The pool's token in the last callback; nil for none.
  private func linked(_ fixture: ServiceFixture) -> String? {
    fixture.host.http.requests.last { $0.url == "http://127.0.0.1/token" }?
      .json?["Logins"]?[Self.key]?.text
  }

  @Test func aPasswordAtThePoolLinksItsUser() throws {
    let (fixture, pool) = try fixture()
    expect(try fixture.ask().accessKeyID != nil)
    expect(linked(fixture) == nil)
    pool.answers = [
      ScriptedPool.verifier, ScriptedPool.sms,
      ScriptedPool.tokens(at: fixture.host.clock.wallTime),
    ]
    let asked = try fixture.ask(Self.login)
    expect(asked["Challenge"]?["Step"]?.text, equals: "code", "\(asked)")
    let reply = try fixture.ask(asked.response("code", #""123456""#))
    expect(reply.state, equals: "signedIn", "\(reply)")
    expect(reply["SignedInBy"]?.text, equals: "host")
    expect(reply["Subject"]?.text, equals: "s-1")
    expect(linked(fixture)?.contains(".") == true)
    // The password was the pool's alone.
    expect(
      fixture.host.http.requests.allSatisfy {
        $0.body.exposedText()?.contains("pass-word") == false
      })
  }

  @Test func theLinkIsRenewedAtThePoolAndEndsThere() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [
      ScriptedPool.verifier, ScriptedPool.tokens(at: fixture.host.clock.wallTime),
    ]
    expect(try fixture.ask(Self.login).state, equals: "signedIn")
    let first = linked(fixture)
    fixture.advance(by: .seconds(3600))
    pool.answers = [ScriptedPool.tokens(at: fixture.host.clock.wallTime)]
    expect(try fixture.ask(#"{"refresh":true,"wait":60}"#).accessKeyID != nil)
    expect(linked(fixture) != first && linked(fixture) != nil)
    pool.answers = [ScriptedPool.ok("{}")]
    _ = try fixture.ask(#"{"op":"logout"}"#)
    fixture.advance(by: .seconds(1))
    expect(pool.requests.last?.header("X-Amz-Target")?.hasSuffix("RevokeToken") == true)
  }

  @Test func aRefusedPasswordLinksNobody() throws {
    let (fixture, pool) = try fixture()
    let key = try fixture.ask().accessKeyID
    pool.answers = [
      ScriptedPool.verifier,
      ScriptedPool.error("NotAuthorizedException", "Incorrect username or password."),
    ]
    expect(try fixture.ask(Self.login).errorCode, equals: "SignInFailed")
    expect(try fixture.ask().accessKeyID, equals: key)
    expect(linked(fixture) == nil)
  }

  @Test func aClientLearnsThatAPasswordLinks() throws {
    let (fixture, _) = try fixture()
    let reply = try fixture.ask(#"{"op":"status","profiles":true}"#)
    let means = ["host", "password", "token", "logins"]
    expect(
      reply["Profiles"]?[0]?["SignIn"]?["Means"], equals: .array(means.map { .string(Secret($0)) }))
  }

  /// Where the backend takes passwords, they are its own: then the pool needs a Hosted UI.
  @Test func passwordsOfTheBackendGoToNoPool() throws {
    let corp = "login_url = http://127.0.0.1/login"
    let (fixture, pool) = try fixture(
      Self.text(
        corp: corp, pool: "domain = a.example\nredirect_uri = http://localhost:8976/"))
    let line = #"{"op":"login","username":"alice","password":"alice-password"}"#
    expect(try fixture.ask(line).state, equals: "signedIn")
    expect(pool.requests.isEmpty)
  }
}
