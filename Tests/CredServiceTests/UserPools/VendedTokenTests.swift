import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// `token` with the kinds of a user pool.
struct VendedTokenTests {
  private func fixture(_ profile: String) throws -> (ServiceFixture, FakePool) {
    let (fixture, pool) = try ServiceFixture.ofUserPool(Configured.userPool(profile: profile))
    try fixture.signInAtPool()
    return (fixture, pool)
  }

  private func token(_ fixture: ServiceFixture, _ kind: String?, _ more: String = "") throws
    -> Reply
  {
    let kind = kind.map { #","kind":"\#($0)""# } ?? ""
    return try fixture.ask(#"{"op":"token","wait":0\#(kind)\#(more)}"#)
  }

  @Test func withoutAWordNoTokenIsHandedOut() throws {
    let (fixture, _) = try fixture("")
    for kind in [nil, "id", "access"] {
      expect(try token(fixture, kind).errorCode, equals: "AccessDenied")
    }
    expect(try token(fixture, "developer").errorCode, equals: "InvalidRequest")
    expect(try token(fixture, "refresh").errorCode, equals: "InvalidRequest")
  }

  @Test func theFirstKindIsTheDefault() throws {
    let (fixture, pool) = try fixture("vend_tokens = id\n")
    let reply = try token(fixture, nil)
    expect(reply["Token"]?.text?.hasPrefix("e30.") == true && reply["Expiration"] != nil)
    expect(try token(fixture, "id")["Token"], equals: reply["Token"])
    expect(try token(fixture, "access").errorCode, equals: "AccessDenied")
    expect(pool.operations, equals: [])
  }

  @Test func aLoopBurnsNoRotation() throws {
    let (fixture, pool) = try fixture("vend_tokens = id\n")
    pool.rotates = true
    fixture.advance(by: .seconds(60))
    var tokens: Set<String> = []
    for _ in 0..<50 {
      let reply = try fixture.ask(#"{"op":"token","refresh":true,"wait":1}"#)
      if let text = reply["Token"]?.text { tokens.insert(text) }
    }
    expect(!tokens.isEmpty && pool.operations.count <= 2)
  }

  @Test func manyWaitersShareOneRenewal() throws {
    let (fixture, pool) = try fixture("vend_tokens = id access account\n")
    fixture.advance(by: .seconds(7200))
    let clients = (0..<20).map { _ in fixture.connect() }
    for (number, client) in clients.enumerated() {
      client.send(#"{"op":"token","kind":"\#(number % 2 == 0 ? "id" : "access")"}"#)
    }
    fixture.advance(by: .seconds(1))
    for client in clients { expect(try client.next()["Token"] != nil) }
    expect(pool.operations, equals: ["GetTokensFromRefreshToken"])
  }

  @Test func aTokenThatMayChangeTheAccountTakesTheWordForIt() throws {
    let scope = #","scope":"openid aws.cognito.signin.user.admin""#
    for (words, isGiven) in [
      ("access", false), ("access account", true), ("id access account", true),
    ] {
      let (fixture, pool) = try fixture("vend_tokens = \(words)\n")
      pool.moreAccessClaims = scope
      fixture.advance(by: .seconds(7200))
      let reply = try fixture.ask(#"{"op":"token","kind":"access"}"#)
      expect((reply["Token"] != nil), equals: isGiven, "\(words)")
      if !isGiven { expect(reply.errorCode, equals: "AccessDenied") }
    }
  }

  @Test func aRefreshTokenIsNeverHandedOut() throws {
    let (fixture, _) = try fixture("vend_tokens = id access account\n")
    for kind in [nil, "id", "access"] {
      expect(!"\(try token(fixture, kind))".contains("refresh-0"))
    }
  }
}
