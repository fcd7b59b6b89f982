import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// A user pool whose primary region fails, and its replica.
struct ReplicaTests {
  private static let primary = "http://127.0.0.1:4600"
  private static let replica = "http://127.0.0.1:4601"
  private static let keys =
    "replica_region = eu-central-1\nreplica_endpoint = \(replica)\nrate_limit = 1000/s\n"

  /// A pool at two places.
  private final class TwoPlaces {
    let fixture: ServiceFixture
    let pool: FakePool
    /// What a place answers in place of the pool; nil while it works.
    var primary: FakeHTTP.Answer?
    var replica: FakeHTTP.Answer?
    /// The places of the requests.
    private(set) var asked: [String] = []

    init(_ text: String, rotates: Bool = false) throws {
      (fixture, pool) = try ServiceFixture.ofUserPool(text)
      pool.rotates = rotates
      let usual = fixture.host.http.answer
      fixture.host.http.answer = { [unowned self] request in
        let isReplica = request.url.hasPrefix(ReplicaTests.replica)
        guard isReplica || request.url.hasPrefix(ReplicaTests.primary) else {
          return usual(request)
        }
        asked.append("\(isReplica ? "replica" : "primary") \(request.operation)")
        return (isReplica ? replica : primary) ?? usual(request)
      }
    }

    func took<R>(_ body: () throws -> R) rethrows -> (R, [String]) {
      let before = asked.count
      let result = try body()
      return (result, Array(asked[before...]))
    }
  }

  private func places(
    _ keys: String = Self.keys, profile: String = "", rotates: Bool = false
  ) throws -> TwoPlaces {
    let places = try TwoPlaces(
      Configured.userPool(profile: profile, backend: keys), rotates: rotates)
    try places.fixture.signInAtPool()
    _ = try places.fixture.ask("{}")
    places.fixture.advance(by: .seconds(60))
    return places
  }

  private let renewal = "GetTokensFromRefreshToken"

  @Test(arguments: [
    FakeHTTP.Answer.failure(.connect), .failure(.nameResolution), .reply(503, ""),
    .reply(500, #"{"__type":"InternalErrorException","message":""}"#),
  ])
  func aRenewalGoesToTheReplicaWhileThePrimaryFails(_ answer: FakeHTTP.Answer) throws {
    let places = try places()
    places.primary = answer
    let (reply, asked) = try places.took { try places.fixture.ask(#"{"refresh":true}"#) }
    expect(reply.accessKeyID != nil, "\(reply)")
    expect(asked.last, equals: "replica \(renewal)", "\(asked)")
    let status = try places.fixture.status()
    expect(status?["Region"]?.text, equals: "eu-central-1")
    expect(try metric(places.fixture), equals: 1)
    // And back.
    places.primary = nil
    places.fixture.advance(by: .seconds(120))
    let (_, back) = try places.took { try places.fixture.ask(#"{"refresh":true}"#) }
    expect(back, equals: ["primary \(renewal)"])
    let after = try places.fixture.status()
    expect(after?["Region"] == nil)
    expect(try metric(places.fixture), equals: 0)
  }

  private func metric(_ fixture: ServiceFixture) throws -> Int? {
    let text = try fixture.ask(#"{"op":"metrics"}"#, uid: 0)["Metrics"]?.text ?? ""
    let line = text.firstMatch(of: /credd_user_pool_replica_in_use\{backend="staff"\} (\d)/)
    return line.flatMap { Int($0.1) }
  }

  @Test(arguments: [
    FakePool.refusal("NotAuthorizedException", "Refresh Token has been revoked"),
    FakePool.refusal("TooManyRequestsException", ""), .reply(429, ""),
  ])
  func aRefusalOfThePrimaryIsFinal(_ answer: FakeHTTP.Answer) throws {
    let places = try places()
    places.primary = answer
    let (_, asked) = try places.took { try places.fixture.ask(#"{"refresh":true}"#) }
    expect(!asked.contains { $0.hasPrefix("replica") }, "\(asked)")
  }

  @Test func aRefusalOfTheReplicaEndsNoSession() throws {
    let places = try places()
    places.primary = .failure(.connect)
    places.replica = FakePool.refusal("NotAuthorizedException", "Invalid Refresh Token.")
    let reply = try places.fixture.ask(#"{"refresh":true,"min_ttl":3590}"#)
    expect(reply.errorCode != "SignInRequired", "\(reply)")
    let identity = try places.fixture.ask(#"{"op":"identity"}"#)
    expect(identity["State"]?.text, equals: "signedIn")
    places.primary = nil
    places.fixture.advance(by: .seconds(120))
    expect(try places.fixture.ask(#"{"refresh":true}"#).accessKeyID != nil)
  }

  @Test func withBothAwayAllIsAsWithOne() throws {
    let places = try places()
    let alone = try TwoPlaces(Configured.userPool())
    try alone.fixture.signInAtPool()
    alone.primary = .failure(.connect)
    let line = #"{"refresh":true,"min_ttl":3590}"#
    let one = try alone.fixture.ask(line)
    places.primary = .failure(.connect)
    for replica in [
      FakeHTTP.Answer.failure(.connect), FakePool.refusal("OperationNotEnabledException", ""),
    ] {
      places.replica = replica
      places.fixture.advance(by: .seconds(3600))
      let both = try places.fixture.ask(line)
      expect(both.errorCode, equals: "BackendUnavailable", "\(both)")
      expect(one.errorCode, equals: "BackendUnavailable", "\(one)")
      let message = both.errorMessage ?? ""
      expect(message.contains("cannot be reached") && !message.contains("replica"), "\(both)")
      let status = try places.fixture.status()
      expect(status?["Region"] == nil)
    }
  }

  /// During an outage one call in a while tries the primary; the others wait for nothing.
  @Test func theWayBackIsTriedByOneCall() throws {
    let places = try places()
    places.primary = .failure(.connect)
    for _ in 0..<6 {
      _ = try places.fixture.ask(#"{"refresh":true}"#)
      places.fixture.advance(by: .seconds(30))
    }
    let (_, asked) = try places.took {
      for _ in 0..<40 {
        expect(try places.fixture.ask(#"{"refresh":true}"#).accessKeyID != nil)
        places.fixture.advance(by: .seconds(30))
      }
    }
    let probes = asked.count { $0.hasPrefix("primary") }
    expect((1...24).contains(probes) && asked.count >= 60, "\(probes) of \(asked.count)")
  }

  /// The pool may have used up a token whose renewal was lost: it goes elsewhere only where the pool is
  /// known to replace none.
  @Test(arguments: [true, false])
  func aLostRenewalGoesToTheReplicaOnlyWithoutRotation(_ rotates: Bool) throws {
    let places = try places(rotates: rotates)
    // One renewal shows whether the pool replaces tokens.
    _ = try places.fixture.ask(#"{"refresh":true}"#)
    places.fixture.advance(by: .seconds(60))
    places.primary = .failure(.timeout)
    let (_, asked) = try places.took { try places.fixture.ask(#"{"refresh":true}"#) }
    expect(asked.contains("replica \(renewal)"), equals: !rotates, "\(asked)")
    places.fixture.advance(by: .seconds(10))
    places.primary = .failure(.connect)
    let (_, later) = try places.took { try places.fixture.ask(#"{"refresh":true}"#) }
    expect(later.contains("replica \(renewal)"), equals: !rotates, "\(later)")
  }

  @Test func theSessionIsOfThePrimaryWhateverServes() throws {
    let places = try places()
    places.primary = .failure(.connect)
    _ = try places.fixture.ask(#"{"refresh":true}"#)
    // The replica goes from the configuration, and the session stays.
    _ = try places.fixture.reload(Configured.userPool())
    places.primary = nil
    places.fixture.advance(by: .seconds(120))
    expect(try places.fixture.ask(#"{"refresh":true}"#).accessKeyID != nil)
    let (_, asked) = try places.took { try places.fixture.ask(#"{"op":"logout"}"#) }
    expect(asked, equals: ["primary RevokeToken"])
  }

  @Test func aSignOutIsTakenByTheReplica() throws {
    let places = try places()
    places.primary = .failure(.connect)
    let (reply, asked) = try places.took { try places.fixture.ask(#"{"op":"logout"}"#) }
    places.fixture.host.settle()
    expect(reply["State"]?.text, equals: "signedOut", "\(reply)")
    expect(asked.last, equals: "replica RevokeToken", "\(asked)")
  }

  /// The second try met a server's error, and the first one may have used the token up.
  @Test func aLossBeforeAnErrorCountsToo() throws {
    let places = try places(rotates: true)
    _ = try places.fixture.ask(#"{"refresh":true}"#)
    places.fixture.advance(by: .seconds(60))
    places.pool.lostReplies = 1
    var isFirst = true
    let usual = places.fixture.host.http.answer
    places.fixture.host.http.answer = { request in
      guard request.url.hasPrefix(Self.primary) else { return usual(request) }
      if isFirst {
        isFirst = false
        return usual(request)
      }
      return .reply(503, "")
    }
    let (_, asked) = try places.took { try places.fixture.ask(#"{"refresh":true}"#) }
    expect(!asked.contains("replica \(renewal)"), "\(asked)")
  }

  @Test func aThrottleGivesNoSpentTokenBack() throws {
    let places = try places(rotates: true)
    _ = try places.fixture.ask(#"{"refresh":true}"#)
    places.fixture.advance(by: .seconds(60))
    for answer in [FakeHTTP.Answer.failure(.reset), .reply(429, ""), .failure(.connect)] {
      places.primary = answer
      let (_, asked) = try places.took { try places.fixture.ask(#"{"refresh":true}"#) }
      expect(!asked.contains("replica \(renewal)"), "\(asked)")
      places.fixture.advance(by: .seconds(120))
    }
  }

  /// Who met the outage is served by the replica at once.
  @Test func anOutageIsKnownForAMinute() throws {
    let places = try places()
    places.primary = .failure(.timeout)
    places.pool.rotates = false
    for _ in 0..<3 {
      _ = try places.fixture.ask(#"{"op":"logout"}"#)
      places.fixture.host.settle()
      try places.fixture.signInAtPool()
      places.fixture.advance(by: .seconds(5))
    }
    expect(places.asked.count { $0 == "primary RevokeToken" }, equals: 1)
    expect(places.asked.count { $0 == "replica RevokeToken" }, equals: 3)
  }

  @Test func aReloadForgetsWhatServed() throws {
    let places = try places()
    places.primary = .failure(.connect)
    _ = try places.fixture.ask(#"{"refresh":true}"#)
    expect(try metric(places.fixture), equals: 1)
    _ = try places.fixture.reload(Configured.userPool())
    _ = try places.fixture.reload(Configured.userPool(backend: Self.keys))
    expect(try metric(places.fixture), equals: 0)
  }
}
