@testable import CredCore

/// Sessions in each state, with as much to store as it can have.
enum SnapshotStory: String, CaseIterable {
  case byHost, byPassword, guest, byLogins, byToken, byTokenFile, refused, refusedPassword
  case signedOut, resting, throttled

  var session: SessionDriver {
    let fixtures = Fixtures()
    var session: SessionDriver
    switch self {
    case .byHost:
      session = SessionDriver()
      session.signIn()
      session.login(fixtures.logins(Fixtures.facebook), loginsExpire: [Fixtures.facebook: 5000])
      session.finish(fixtures.token())
      session.finish(fixtures.credentials())
      session.advance(by: 1)
      session.useCache()
    case .byPassword:
      session = SessionDriver(.password)
      session.signIn("alice")
    case .guest:
      session = SessionDriver(.none, guests: true)
      session.beGuest()
    case .byLogins:
      session = SessionDriver(.none)
      session.login(
        fixtures.logins(Fixtures.facebook, Fixtures.google), role: Fixtures.role,
        loginsExpire: [Fixtures.google: 200])
      session.finish(.identity(fixtures.identity))
      session.finish(fixtures.credentials())
    case .byToken:
      session = SessionDriver(.none)
      session.login(fixtures.clientToken(), expires: 800)
      session.finish(fixtures.credentials())
    case .byTokenFile:
      session = SessionDriver(.none, tokenFileProvider: "oidc.example.com")
      session.ask()
      session.finish(.fileToken(Secret("file's")))
      session.finish(.identity(fixtures.identity))
      session.finish(fixtures.credentials())
    case .refused:
      session = SessionDriver()
      session.signIn()
      session.advance(by: 1000)
      session.ask(refresh: true, wait: .seconds(0.05))
      session.finish(fixtures.failed(.signInRequired, .signInRequired))
    case .refusedPassword:
      session = SessionDriver(.password)
      session.signIn("alice")
      session.advance(by: 1000)
      session.ask(refresh: true, wait: .seconds(0.05))
      session.finish(fixtures.failed(.signInRequired, .signInRequired))
    case .signedOut:
      session = SessionDriver()
      session.signIn()
      session.send(.loggedOut)
    case .resting:
      session = SessionDriver()
      session.ask()
      session.finish(fixtures.failed(.transient(retryAfter: .seconds(40))))
    case .throttled:
      session = SessionDriver()
      session.signIn()
      session.advance(by: 1000)
      session.ask(refresh: true)
      session.finish(fixtures.failed(.throttled(retryAfter: .seconds(20)), .throttled))
    }
    session.forgetAll()
    return session
  }

  /// As it is stored for alice in the profile `p`.
  func record(_ profile: Profile) -> SessionRecord {
    SessionRecord(
      uid: 1000, owner: .named("alice"), profile: profile, snapshot: session.machine.snapshot)
  }
}

/// The profile `p` with these lines in it.
func fullProfile(_ lines: String = "", backend: String = "") throws -> Profile {
  let configuration = reading(backend + plainProfile + lines).configuration ?? Configuration()
  let settings =
    configuration.profiles["p"] ?? ProfileSettings(name: "broken", way: .pool(PoolSettings()))
  return try Profile(settings, in: configuration) { _ in nil }
}
