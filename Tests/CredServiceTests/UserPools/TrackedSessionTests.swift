import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// `sessions` and `end-session`, and what happens to a session that the pool ends.
struct TrackedSessionTests: PoolAccountTesting {
  private static let own = "tkn" + String(repeating: "a", count: 25)
  private static let browser = "sso" + String(repeating: "c", count: 25)

  private static func page(_ ids: [String], next: String? = nil) -> FakeHTTP.Answer {
    let rows = ids.map {
      #"{"SessionId":"\#($0)","CreateDate":1767312000,"IsCurrentSession":\#($0 == own)}"#
    }
    let more = next.map { #","NextToken":"\#($0)""# } ?? ""
    return .reply(200, #"{"Sessions":[\#(rows.joined(separator: ","))]\#(more)}"#)
  }

  /// A user who has just signed in.
  private func signedIn(_ actions: String = Self.all) throws -> (ServiceFixture, FakePool) {
    let (fixture, pool) = try fixture(actions)
    try fixture.signInAtPool(signedIn: fixture.host.clock.wallTime)
    pool.faults["RevokeUserSession"] = [Self.ok]
    return (fixture, pool)
  }

  private func end(_ id: String) -> String { line(#""end-session","session":"\#(id)""#) }

  private func ended(_ pool: FakePool) -> [String?] {
    zip(pool.operations, pool.bodies).filter { $0.0 == "RevokeUserSession" }
      .map { $0.1["SessionId"]?.text }
  }

  @Test func theListIsThePools() throws {
    let (fixture, pool) = try signedIn()
    pool.faults["ListUserSessions"] = [
      Self.page([Self.own, Self.browser], next: "n"), Self.page([]),
    ]
    let reply = try fixture.ask(line(#""sessions""#))
    let rows = reply["Sessions"]
    expect(rows?[0]?["Session"]?.text, equals: Self.own, "\(reply)")
    expect(rows?[0]?["Kind"]?.text == "token" && rows?[0]?["This"]?.bool == true)
    expect(rows?[1]?["Kind"]?.text == "sso" && rows?[1]?["This"]?.bool == false)
    expect(rows?[0]?["Created"]?.text, equals: "2026-01-02T00:00:00Z")
    expect(rows?[0]?["Place"] == nil && rows?[0]?["Device"] == nil)
    expect(reply["Next"]?.text, equals: "n")
    expect(try fixture.ask(line(#""sessions","after":"n""#))["Next"] == nil)
    expect(pool.bodies.last?["NextToken"]?.text, equals: "n")
  }

  @Test(arguments: [Self.session, Self.browser])
  func anotherSessionIsEnded(id: String) throws {
    let (fixture, pool) = try signedIn()
    pool.faults["ListUserSessions"] = [Self.page([id, Self.own])]
    let reply = try fixture.ask(end(id))
    expect(reply.errorCode == nil && reply.state == nil, "\(reply)")
    expect(ended(pool), equals: [id])
    // With a browser's session, those of apps that came through it would end, perhaps this one.
    expect(pool.bodies.last?["RevokeAssociatedSessions"] == nil)
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
  }

  @Test func theOwnSessionIsRefusedByWordsThatNameLogout() throws {
    let (fixture, pool) = try signedIn()
    // On a page that is not the first.
    pool.faults["ListUserSessions"] = [
      Self.page([Self.browser], next: "n"), Self.page([Self.own]),
    ]
    let reply = try fixture.ask(end(Self.own))
    expect(reply.errorCode, equals: "AccountRefused", "\(reply)")
    expect(reply.errorMessage?.contains("'logout' ends it") == true, "\(reply)")
    expect(ended(pool), equals: [])
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
  }

  @Test func aListWithoutAnEndIsNotReadForEver() throws {
    let (fixture, pool) = try signedIn()
    pool.faults["ListUserSessions"] = (0..<20).map { _ in Self.page([Self.browser], next: "n") }
    expect(try fixture.ask(end(Self.session)).errorCode == nil)
    expect(pool.operations.count { $0 == "ListUserSessions" }, equals: 4)
    expect(ended(pool), equals: [Self.session])
  }

  @Test func anUnknownSessionIsSaid() throws {
    let (fixture, pool) = try signedIn()
    pool.faults["ListUserSessions"] = [Self.page([Self.own])]
    pool.faults["RevokeUserSession"] = [FakePool.refusal("ResourceNotFoundException", "?")]
    let reply = try fixture.ask(end(Self.session))
    expect(reply.errorCode, equals: "AccountRefused", "\(reply)")
    expect(reply.errorMessage?.contains("'sessions' lists") == true, "\(reply)")
  }

  @Test func aPoolThatTracksNoSessionsRefusesBoth() throws {
    let (fixture, pool) = try signedIn()
    let off = FakePool.refusal("OperationNotEnabledException", "not available")
    pool.faults["ListUserSessions"] = [off, off]
    for line in [line(#""sessions""#), end(Self.session)] {
      let reply = try fixture.ask(line)
      expect(reply.errorCode, equals: "AccountRefused", "\(reply)")
      expect(reply["Error"]?["Reason"]?.text, equals: "OperationNotEnabledException")
    }
    expect(ended(pool), equals: [])
  }

  /// A program of the user's that finds an old session signs the user out nowhere.
  @Test func toEndASessionWantsASignInOfAMomentAgo() throws {
    let (fixture, pool) = try signedIn()
    fixture.advance(by: .seconds(15 * 60))
    let reply = try fixture.ask(end(Self.session))
    expect(reply.errorCode, equals: "SignInRequired", "\(reply)")
    expect(reply["Error"]?["Reason"]?.text, equals: "ReauthenticationRequired")
    expect(!pool.operations.contains("ListUserSessions"))
    pool.faults["ListUserSessions"] = [Self.page([Self.own])]
    expect(try fixture.ask(line(#""sessions""#))["Sessions"] != nil)
  }

  @Test func aSessionThatThePoolHasEndedMayHaveEndedElsewhere() throws {
    let (fixture, pool) = try signedIn()
    pool.faults["GetTokensFromRefreshToken"] = [
      FakePool.refusal("NotAuthorizedException", "Nobody knows what is said of an eviction")
    ]
    fixture.advance(by: .seconds(60))
    let reply = try fixture.ask(#"{"refresh":true,"wait":1}"#)
    expect(reply.errorCode, equals: "SignInRequired", "\(reply)")
    expect(reply.errorMessage?.contains("the pool's limit of sessions") == true, "\(reply)")
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "tokensInvalid")
    // It is not asked again.
    fixture.advance(by: .seconds(3600))
    _ = try fixture.ask(#"{"refresh":true,"wait":0}"#)
    expect(pool.operations.count { $0 == "GetTokensFromRefreshToken" }, equals: 1)
  }

  @Test func aRegionThatRenewsNothingNowEndsNoSession() throws {
    let (fixture, pool) = try signedIn()
    pool.faults["GetTokensFromRefreshToken"] = [
      FakePool.refusal("OperationNotEnabledException", "not available in the current region")
    ]
    fixture.advance(by: .seconds(60))
    let reply = try fixture.ask(#"{"refresh":true,"wait":0.5}"#)
    expect(reply.errorCode, equals: "BackendUnavailable", "\(reply)")
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
    fixture.advance(by: .seconds(61))
    expect(try fixture.ask(#"{"refresh":true}"#).accessKeyID != nil)
  }

  @Test func aSecretThatIsRewrittenCountsFromTheNextCall() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool(
      Configured.userPool(backend: "client_secret_file = /run/secret"))
    for secret in ["a-first-secret-of-24-chars", "another-secret-of-24-chars"] {
      fixture.host.queries.files["/run/secret"] = secret + "\n"
      if pool.operations.isEmpty { try fixture.signInAtPool() }
      fixture.advance(by: .seconds(60))
      expect(try fixture.ask(#"{"refresh":true}"#).accessKeyID != nil)
      expect(pool.bodies.last?["ClientSecret"]?.text, equals: secret)
    }
  }
}
