import CredCore
import Testing

/// A token file is a login that needs nobody.
@Suite struct SignInFileTests {
  let fixtures = Fixtures()
  private static let issuer = "oidc.example"

  private func plan(_ backend: SessionPlan.BackendTrust = .none) -> SessionPlan {
    SessionPlan(backend: backend, tokenFileProvider: Self.issuer)
  }

  private func login(_ token: String) -> LoginsMap {
    (try? LoginsMap([(Self.issuer, Secret(token))])) ?? LoginsMap()
  }

  @Test func aGetSignsInByItself() {
    var session = SessionDriver(plan: plan())
    let get = session.ask()
    session.finish(.fileToken(Secret("one")))
    session.finish(.identity(fixtures.identity))
    session.finish(fixtures.credentials())
    #expect(
      session.calls == [
        .readTokenFile, .getID(logins: login("one")), fixtures.exchange(login("one")),
      ])
    #expect(session.answer(to: get) == .credentials)
    #expect(session.machine.state == .signedIn(.tokenFile))
  }

  @Test func itIsReadAnewForEachRefresh() {
    var session = SessionDriver(plan: plan())
    session.ask()
    session.finish(.fileToken(Secret("one")))
    session.finish(.identity(fixtures.identity))
    session.finish(fixtures.credentials())
    session.forgetAll()
    session.advance(by: 60)
    session.ask(refresh: true)
    session.finish(.fileToken(Secret("two")))
    #expect(session.calls == [.readTokenFile, fixtures.exchange(login("two"))])
  }

  @Test func aTokenThatIsOverIsTriedAgainWithTheNextOne() {
    var session = SessionDriver(plan: plan())
    session.ask()
    session.finish(.fileToken(Secret("old")))
    session.finish(.identity(fixtures.identity))
    session.finish(fixtures.refusedToken)
    #expect(session.machine.state == .signedOut(byUser: false))
    session.advance(by: 5)
    let get = session.ask()
    session.finish(.fileToken(Secret("new")))
    session.finish(fixtures.credentials())
    #expect(session.answer(to: get) == .credentials)
  }

  @Test func aFileThatCannotBeReadIsAFailureLikeAnother() {
    var session = SessionDriver(plan: plan())
    let get = session.ask()
    session.finish(fixtures.failed(.permanentConfiguration, .cognitoUnavailable))
    #expect(session.answer(to: get) == .refused(.cognitoUnavailable))
    #expect(session.openCalls.isEmpty)
  }

  @Test func anEmptyFileIsRefusedBeforeAnyCall() {
    var session = SessionDriver(plan: plan())
    let get = session.ask()
    session.finish(.fileToken(Secret("")))
    #expect(session.calls == [.readTokenFile])
    #expect(session.answer(to: get) == .refused(.cognitoUnavailable))
  }

  @Test func besideABackendItIsLinked() {
    var session = SessionDriver(plan: plan(.host))
    session.ask()
    session.finish(.fileToken(Secret("one")))
    #expect(session.calls.last == fixtures.callback(logins: login("one"), session: nil))
    session.finish(fixtures.token())
    session.finish(fixtures.credentials())
    #expect(session.machine.state == .signedIn(.host))
    session.advance(by: 60)
    session.ask(refresh: true)
    // The token at hand needs no callback, and so no file.
    #expect(session.calls.last == fixtures.exchange())
  }

  @Test func loginsAddedToItDoNotMakeItStale() {
    var session = SessionDriver(plan: plan())
    session.ask()
    session.finish(.fileToken(Secret("one")))
    session.finish(.identity(fixtures.identity))
    session.finish(fixtures.credentials())
    session.forgetAll()
    let login = session.login(fixtures.logins(Fixtures.google))
    session.finish(.fileToken(Secret("two")))
    session.finish(fixtures.credentials())
    #expect(session.answer(to: login) == .state)
    #expect(session.calls.first == .readTokenFile)
    #expect(session.machine.logins[Self.issuer] == Secret("two"))
    #expect(session.machine.logins.logins.count == 2)
  }

  @Test func afterALogoutItReturnsWithALogin() {
    var session = SessionDriver(plan: plan())
    session.ask()
    session.finish(.fileToken(Secret("one")))
    session.finish(.identity(fixtures.identity))
    session.finish(fixtures.credentials())
    session.send(.loggedOut)
    session.forgetAll()
    let get = session.ask(wait: .seconds(60))
    #expect(session.calls == [])
    let login = session.login(.host)
    session.finish(.fileToken(Secret("two")))
    session.finish(.identity(fixtures.identity))
    session.finish(fixtures.credentials())
    #expect(session.answer(to: login) == .state)
    #expect(session.answer(to: get) == .credentials)
    #expect(session.machine.state == .signedIn(.tokenFile))
  }
}
