import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Whose a challenge is, and what ends it.
final class ChallengeEndTests: ChallengeTesting {
  // MARK: Whose it is

  @Test func aHandleOfAnotherUserIsAnUnknownOne() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms, tokens(fixture)]
    let handle = try fixture.ask(Self.login).handle ?? ""
    let none = String(repeating: "0", count: 32)
    for uid: UInt32 in [1001, 0] {
      for input in [#""answers":{"code":"1"}"#, #""cancel":true"#, #""wait":0"#] {
        let replies = try [handle, none, "nonsense"].map {
          try fixture.ask(#"{"op":"respond","handle":"\#($0)",\#(input)}"#, uid: uid).text
        }
        expect(Set(replies).count == 1 && replies[0].contains("UnknownChallenge"))
      }
    }
    expect(pool.requests.count, equals: 2)
    expect(try fixture.ask(Self.answer(handle)).state, equals: "signedIn")
  }

  @Test func aChallengeOfAFormerOwnerOfTheUidIsNobodys() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms]
    let handle = try fixture.ask(Self.login).handle ?? ""
    fixture.host.queries.users[1000] = UserEntry(uid: 1000, name: "carol")
    fixture.advance(by: .seconds(61))
    expect(try fixture.ask(Self.answer(handle)).errorCode, equals: "UnknownChallenge")
    expect(pool.requests.count == 2 && fixture.service.openSignIns == 0)
  }

  // MARK: The end of a challenge

  @Test(arguments: [
    #"{"op":"logout"}"#, #"{"op":"clear","what":"identity"}"#,
    #"{"op":"respond","handle":"HANDLE","cancel":true}"#,
  ])
  func aChallengeEndsWith(_ line: String) throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms]
    let handle = try fixture.ask(Self.login).handle ?? ""
    expect(try fixture.ask(line.replacing("HANDLE", with: handle)).state, equals: "signedOut")
    expect(try fixture.ask(Self.answer(handle)).errorCode, equals: "UnknownChallenge")
    expect(fixture.service.openSignIns, equals: 0)
  }

  @Test func otherRequestsLeaveAChallengeAsItIs() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms, tokens(fixture)]
    let handle = try fixture.ask(Self.login).handle ?? ""
    for line in [
      #"{"op":"release"}"#, #"{"op":"clear","what":"credentials"}"#, #"{"op":"status"}"#,
      #"{"wait":0}"#,
    ] { _ = try fixture.ask(line) }
    expect(try fixture.ask(Self.answer(handle)).state, equals: "signedIn")
  }

  @Test func anotherLoginTakesThePlaceOfAChallenge() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms, Pool.verifier, Pool.sms]
    let first = try fixture.ask(Self.login).handle ?? ""
    let second = try fixture.ask(Self.login).handle ?? ""
    expect(first != second)
    expect(try fixture.ask(Self.answer(first)).errorCode, equals: "UnknownChallenge")
    expect(fixture.service.openSignIns, equals: 1)
  }

  @Test func aChallengeEndsInTimeAndSaysHowMuchIsLeft() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms]
    let handle = try fixture.ask(Self.login).handle ?? ""
    fixture.advance(by: .seconds(100))
    let wait = #"{"op":"respond","handle":"\#(handle)","wait":30}"#
    let again = try fixture.ask(wait)
    expect(again.handle, equals: handle)
    expect((79...80).contains(again["Challenge"]?["ExpiresIn"]?.integer ?? 0))
    fixture.advance(by: .seconds(81))
    expect(fixture.service.openSignIns, equals: 0)
    expect(try fixture.ask(Self.answer(handle)).errorCode, equals: "UnknownChallenge")
    expect(pool.requests.count, equals: 2)
  }

  @Test func aReloadThatChangesTheSignInEndsIt() throws {
    for (backend, ends) in [
      ("", false), ("remember_device = yes", true), ("auth_flow = password", true),
      ("client_secret_file = /run/secret", true), ("client_metadata = yes", true),
      ("account_actions = get", false), ("max_parallel = 3", false),
    ] {
      let (fixture, pool) = try fixture()
      pool.answers = [Pool.verifier, Pool.sms, tokens(fixture)]
      let handle = try fixture.ask(Self.login).handle ?? ""
      try fixture.reload(
        Configured.scriptedPool(backend: backend, profile: "forget_after = 9d"))
      let reply = try fixture.ask(Self.answer(handle))
      expect((reply.errorCode == "UnknownChallenge"), equals: ends, "\(backend)")
    }
  }

  @Test func aRightThatIsWithdrawnEndsIt() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms]
    let handle = try fixture.ask(Self.login).handle ?? ""
    try fixture.reload(Configured.scriptedPool(profile: "allow_users = bob"))
    expect(fixture.service.openSignIns, equals: 0)
    expect(try fixture.ask(Self.answer(handle)).errorCode, equals: "UnknownChallenge")
    try fixture.reload(Configured.scriptedPool(["other"]))
    expect(try fixture.ask(Self.answer(handle)).errorCode, equals: "UnknownChallenge")
  }

  /// Nobody has to ask in between.
  @Test(arguments: [
    "allow_users = bob", "allow_groups = developers", "allow_units = x.service",
    "allow_executables = /usr/bin/x",
  ])
  func aRightThatComesBackDoesNotBringItBack(_ rule: String) throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms, tokens(fixture)]
    let handle = try fixture.ask(Self.login).handle ?? ""
    try fixture.reload(Configured.scriptedPool(profile: rule))
    try fixture.reload(Configured.scriptedPool())
    expect(try fixture.ask(Self.answer(handle)).errorCode, equals: "UnknownChallenge")
  }

  @Test(arguments: ["allow_users = alice bob", "allow_groups = 1000", "allow_users = *"])
  func aRightThatStaysKeepsIt(_ rule: String) throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms, tokens(fixture)]
    let handle = try fixture.ask(Self.login).handle ?? ""
    try fixture.reload(Configured.scriptedPool(profile: rule))
    expect(try fixture.ask(Self.answer(handle)).state, equals: "signedIn")
  }

  /// It gets no further with it, and takes nothing from the program that began it.
  @Test func aProgramThatIsNotAdmittedEndsNoSignInOfAnother() throws {
    let (fixture, pool) = try fixture(
      Configured.scriptedPool(profile: "allow_units = billing.service"))
    pool.answers = [Pool.verifier, Pool.sms, tokens(fixture)]
    let admitted = fixture.connect()
    admitted.systemdUnit = "billing.service"
    let handle = try admitted.ask(Self.login).handle ?? ""
    for input in [#""answers":{"code":"1"}"#, #""cancel":true"#, #""wait":0"#] {
      let reply = try fixture.ask(#"{"op":"respond","handle":"\#(handle)",\#(input)}"#)
      expect(reply.errorCode, equals: "AccessDenied")
    }
    expect(try admitted.ask(Self.answer(handle)).state, equals: "signedIn")
  }

  @Test func aRestartEndsIt() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [Pool.verifier, Pool.sms]
    let handle = try fixture.ask(Self.login).handle ?? ""
    try fixture.restart(Configured.scriptedPool())
    expect(try fixture.ask(Self.answer(handle)).errorCode, equals: "UnknownChallenge")
  }

  @Test func theEndOfTheDaemonEndsASignInThatIsUnderWay() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [.silence]
    let client = fixture.connect()
    client.send(Self.login)
    fixture.service.dismissWaiters()
    expect(try client.next().errorCode, equals: "ShuttingDown")
    fixture.advance(by: .seconds(10))
    expect(client.hasReadAll && fixture.service.openSignIns == 0)
    _ = pool
  }
}
