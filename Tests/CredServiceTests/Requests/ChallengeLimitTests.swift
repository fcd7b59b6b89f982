import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// How many sign-ins may be open, and how often one may guess.
final class ChallengeLimitTests: ChallengeTesting {
  @Test func oneUserHasEightOpenChallenges() throws {
    let names = (0..<9).map { "p\($0)" }
    let (fixture, pool) = try fixture(Configured.scriptedPool(names))
    var handles: [String] = []
    for name in names {
      pool.answers = [Pool.verifier, Pool.challenge("SOFTWARE_TOKEN_MFA")]
      handles.append(try fixture.ask(Self.line(name)).handle ?? "")
    }
    expect(fixture.service.openSignIns, equals: 8)
    expect(
      try fixture.ask(#"{"op":"respond","handle":"\#(handles[0])","wait":0}"#).errorCode,
      equals: "UnknownChallenge")
    expect(
      try fixture.ask(#"{"op":"respond","handle":"\#(handles[1])","wait":0}"#).handle,
      equals: handles[1])
  }

  @Test func theOldestOfTheUserWithTheMostGoesWhenAllAreFull() throws {
    let names = ["p0", "p1"]
    let (fixture, pool) = try fixture(Configured.scriptedPool(names))
    func open(_ profile: String, _ uid: UInt32) throws -> String {
      fixture.host.queries.users[uid] = UserEntry(uid: uid, name: "user\(uid)")
      pool.answers = [Pool.verifier, Pool.sms]
      return try fixture.ask(Self.line(profile), uid: uid).handle ?? ""
    }
    let first = try open("p0", 5000)
    let second = try open("p1", 5000)
    for uid in 5001..<UInt32(5001 + 1022) { _ = try open("p0", uid) }
    expect(fixture.service.openSignIns, equals: 1024)
    _ = try open("p0", 9000)
    expect(fixture.service.openSignIns, equals: 1024)
    func isOpen(_ handle: String) throws -> Bool {
      try fixture.ask(#"{"op":"respond","handle":"\#(handle)","wait":0}"#, uid: 5000).handle
        == handle
    }
    expect(try !isOpen(first))
    expect(try isOpen(second))
  }

  /// A low uid is no reason to go, nor is a newcomer's.
  @Test func ofUsersWithAsManyTheOldestSignInGoes() throws {
    let (fixture, pool) = try fixture(Configured.scriptedPool(["p0", "p1"]))
    func open(_ uid: UInt32, _ profile: String = "p0") throws -> String {
      fixture.host.queries.users[uid] = UserEntry(uid: uid, name: "user\(uid)")
      pool.answers = [Pool.verifier, Pool.challenge("SOFTWARE_TOKEN_MFA")]
      return try fixture.ask(Self.line(profile), uid: uid).handle ?? ""
    }
    func isOpen(_ handle: String, _ uid: UInt32) throws -> Bool {
      try fixture.ask(#"{"op":"respond","handle":"\#(handle)","wait":0}"#, uid: uid).handle
        == handle
    }
    let oldest = try open(9000)
    let second = try open(5000)
    for uid in 5001..<UInt32(5001 + 1022) { _ = try open(uid) }
    expect(fixture.service.openSignIns, equals: 1024)
    let newcomer = try open(9001)
    expect(try !isOpen(oldest, 9000))
    expect(try isOpen(second, 5000) && isOpen(newcomer, 9001))
    // One of those with the most makes room for the own sign-in.
    let own = try open(9001, "p1")
    expect(try isOpen(second, 5000) && isOpen(own, 9001) && !isOpen(newcomer, 9001))
  }

  /// A trigger that puts a counter into its questions tells nobody how often one may guess.
  @Test func guessesAtQuestionsThatChangeHaveToWaitToo() throws {
    let (fixture, pool) = try fixture(
      Configured.scriptedPool(backend: "auth_flow = custom-srp"))
    var codes: [String] = []
    var number = 0
    func question() -> FakeHTTP.Answer {
      number += 1
      return Pool.challenge("CUSTOM_CHALLENGE", #"{"attempt":"\#(number)"}"#)
    }
    for _ in 0..<6 {
      pool.answers = [Pool.verifier, question()]
      guard let handle = try fixture.ask(Self.login).handle else { continue }
      var handles = [handle]
      for _ in 0..<2 {
        pool.answers = [question()]
        let reply = try fixture.ask(
          #"{"op":"respond","handle":"\#(handles.last ?? "")","answers":{"answer":"1"}}"#)
        codes.append(reply.errorCode ?? "")
        if let next = reply.handle { handles.append(next) }
      }
    }
    expect(pool.requests.count { $0.operation == "RespondToAuthChallenge" } < 16)
    expect(try fixture.ask(Self.login).errorCode, equals: "TooManyRequests")
  }
}
