import CredCore
import TestSupport
import Testing

/// Who is signed in, and how: what `identity`, `status` and `watch` say.
struct SignedInTests {
  let fixtures = Fixtures()

  private func signedIn(_ session: SessionDriver) -> SignedIn? {
    let now = session.now
    return session.machine.signedIn(hostName: "unix") { instant in
      WallTime(milliseconds: Int64((instant - now).inSeconds * 1000))
    }
  }

  private func jwt(_ claims: String) -> Secret {
    Secret(SampleJWT.text(claims))
  }

  @Test func eachMeansHasItsWord() {
    expect(signedIn(SessionDriver(.host)) == nil)
    var host = SessionDriver(.host)
    host.signIn()
    expect(signedIn(host), equals: SignedIn(by: .host, username: "unix"))
    var password = SessionDriver(.password)
    password.signIn("alice@example.com")
    expect(signedIn(password), equals: SignedIn(by: .password, username: "alice@example.com"))
    var guest = SessionDriver(.none, guests: true)
    guest.beGuest()
    expect(signedIn(guest), equals: SignedIn(by: .guest))
    var logins = SessionDriver(.none)
    logins.signIn(fixtures.logins(Fixtures.facebook))
    expect(signedIn(logins), equals: SignedIn(by: .logins))
    var token = SessionDriver(.none)
    token.login(fixtures.clientToken(), expires: 900)
    token.finish(fixtures.credentials(), after: 0)
    expect(signedIn(token), equals: SignedIn(by: .token, until: WallTime(milliseconds: 900_000)))
  }

  /// The mobile SDKs distinguish these two states.
  @Test func invalidTokensSayWhoseTheyWere() {
    var session = SessionDriver(.password)
    session.signIn("alice")
    session.advance(by: 1000)
    session.ask(refresh: true)
    session.finish(fixtures.failed(.signInRequired, .signInRequired))
    expect(session.machine.state.reported, equals: .tokensInvalid)
    expect(signedIn(session), equals: SignedIn(by: .password, username: "alice"))
  }

  @Test func theProvidersNameForAUserIsInItsToken() throws {
    let logins = try LoginsMap([
      (Fixtures.facebook, Secret("opaque")), (Fixtures.google, jwt(#"{"sub":"1234","exp":9}"#)),
    ])
    var session = SessionDriver(.none)
    session.login(.logins(logins), loginsExpire: [Fixtures.facebook: 50, Fixtures.google: 600])
    session.finish(.identity(fixtures.identity), after: 0)
    session.finish(fixtures.credentials(), after: 0)
    expect(
      signedIn(session),
      equals: SignedIn(by: .logins, subject: "1234", until: WallTime(milliseconds: 600_000)))
  }

  @Test(arguments: [#"{"sub":"a\u0007b"}"#, #"{"sub":""}"#, #"{"sub":5}"#, "[]"])
  func aNameThatIsNoneIsNotShown(_ claims: String) throws {
    var session = SessionDriver(.none)
    session.signIn(.logins(try LoginsMap([(Fixtures.google, jwt(claims))])))
    expect(signedIn(session), equals: SignedIn(by: .logins))
  }

  @Test func aDeveloperTokenNamesItsUser() throws {
    let claims =
      #"{"amr":["authenticated","login.example.app","login.example.app:us-east-1:1-2:al:ice"]}"#
    let token = try DeveloperToken(jwt(claims))
    var session = SessionDriver(.none)
    session.signIn(.developerToken(identityID: fixtures.identity, token: token))
    expect(signedIn(session)?.username, equals: "al:ice")
  }
}
