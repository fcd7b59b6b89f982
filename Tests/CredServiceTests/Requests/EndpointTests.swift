import CredCore
import Logging
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Requests to the endpoint: the same authority as on the socket, and two locks.
struct EndpointTests {
  private func profiles(_ keys: String...) throws -> ServiceFixture {
    try ServiceFixture(
      Configured.http()
        + keys.enumerated().map { Configured.profile("p\($0)", $1) }.joined())
  }

  @Test func aUsersTokenGivesTheCredentialsOfTheSocket() throws {
    let fixture = try ServiceFixture()
    let client = EndpointClient(fixture)
    let answer = try client.ask(try EndpointLock.token(.user(1000)))
    expect(answer.status, equals: 200)
    let reply = try fixture.ask()
    expect(answer["AccessKeyId"], equals: reply["AccessKeyId"])
    expect(answer["SecretAccessKey"], equals: reply["SecretAccessKey"])
    expect(answer["Token"], equals: reply["SessionToken"])
    expect(answer["Expiration"], equals: reply["Expiration"])
    expect(fixture.host.upstreams.calls("GetCredentialsForIdentity"), equals: 1)
    expect(!client.isFinished)
  }

  @Test func aSecondRequestOnAConnectionIsAnsweredFromTheCache() throws {
    let fixture = try ServiceFixture()
    let client = EndpointClient(fixture)
    let token = try EndpointLock.token(.user(1000))
    let first = try client.ask(token)
    let asked = fixture.host.queries.asked.count
    expect(try client.ask(token), equals: first)
    expect(fixture.host.queries.asked.count, equals: asked)
    // After a refresh it gives the new ones.
    fixture.advance(by: .seconds(3500))
    let later = try client.ask(token)
    expect(later.status, equals: 200)
    expect(later["AccessKeyId"] != first["AccessKeyId"])
  }

  @Test func callersOnBothWaitForOneRefresh() throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.delays["token"] = .milliseconds(300)
    let clients = (1...5).map { _ in EndpointClient(fixture) }
    let token = try EndpointLock.token(.user(1000))
    for client in clients { client.send(token) }
    let socket = fixture.connect()
    socket.send("{}")
    fixture.advance(by: .seconds(1))
    let key = try socket.next()["AccessKeyId"]
    expect(clients.allSatisfy { $0.answers.first?["AccessKeyId"] == key })
    expect(fixture.host.upstreams.calls("token"), equals: 1)
  }

  @Test func aColdRequestIsAnsweredWithinASecondAndTheRefreshGoesOn() throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.delays["token"] = .milliseconds(1500)
    let token = try EndpointLock.token(.user(1000))
    let client = EndpointClient(fixture)
    let begun = fixture.now
    let answer = try client.ask(token)
    expect(answer.status, equals: 503)
    expect(fixture.now - begun < .seconds(1))
    expect(client.isFinished)
    fixture.advance(by: .seconds(1))
    expect(try EndpointClient(fixture).ask(token).status, equals: 200)
    expect(fixture.host.upstreams.calls("token"), equals: 1)
  }

  /// SDKs give up after a second.
  @Test(arguments: [1500, 600] as [Int64])
  func aSlowUserDatabaseIsWaitedForNoLonger(milliseconds: Int64) throws {
    let fixture = try ServiceFixture()
    fixture.host.background.time[.users] = .milliseconds(milliseconds)
    fixture.host.upstreams.delays["token"] = .milliseconds(600)
    let token = try EndpointLock.token(.user(1000))
    let client = EndpointClient(fixture)
    let begun = fixture.now
    expect(try client.ask(token).status, equals: 503)
    expect(fixture.now - begun <= Limits.Endpoint.wait + .milliseconds(1))
    expect(client.isFinished && client.answers.count == 1)
    fixture.advance(by: .seconds(3))
    expect(client.answers.count, equals: 1)
    // What was looked up meanwhile is there for the next try.
    fixture.host.upstreams.delays = [:]
    let next = EndpointClient(fixture)
    expect(try next.ask(token).status, equals: 200)
    fixture.advance(by: .seconds(3))
    expect(next.answers.count, equals: 1)
  }

  @Test func aStolenTokenOpensNothing() throws {
    let fixture = try ServiceFixture()
    let alices = try EndpointLock.token(.user(1000))
    let units = try EndpointLock.token(.unit("billing.service"))
    let wrong: [(UInt32, String?, Secret?)] = [
      (1001, nil, alices), (0, nil, alices), (1000, nil, units), (1000, "other.service", units),
      (1000, nil, nil), (1000, nil, Secret("credd1.u")),
      (1000, nil, try EndpointLock.token(.user(1000), for: "work")),
    ]
    let answers = try wrong.map { uid, unit, token in
      try EndpointClient(fixture, uid: uid, unit: unit).ask(token)
    }
    expect(answers.allSatisfy { $0.status == 401 && $0 == answers[0] })
    expect(fixture.host.upstreams.calls("token"), equals: 0)
    let entries = fixture.host.log.entries.filter {
      $0.message.hasPrefix("refused a request at the endpoint: the token was given to another")
    }
    expect(entries.contains { $0["uid"] == "1001" && $0.level == .warning })
    expect(entries.contains { $0["unit"] == "other.service" && $0["uid"] == "1000" })
  }

  /// Who mixes up two profiles is told so. Nobody else learns what a token is for.
  @Test func itsOwnerIsToldWhatATokenIsFor() throws {
    let fixture = try ServiceFixture()
    let (user, unit) = (TokenOwner.user(1000), TokenOwner.unit("typo.service"))
    for owner in [user, unit] { fixture.service.tokenGiven(for: "wrok", to: owner) }
    let told = "this token is for profile 'wrok', not 'default': "
    let users = try EndpointLock.token(user, for: "wrok")
    let own = try EndpointClient(fixture).ask(users)
    expect(own.status, equals: 401)
    expect(own["message"]?.text?.hasPrefix(told) == true, "\(own)")
    let units = try EndpointLock.token(unit, for: "wrok")
    let ofUnit = try EndpointClient(fixture, uid: 1001, unit: "typo.service").ask(units)
    expect(ofUnit["message"]?.text?.hasPrefix(told) == true, "\(ofUnit)")
    // The same for a profile that does not exist.
    let nothing = try EndpointClient(fixture).ask("nothing", users)
    expect(
      nothing["message"]?.text?.hasPrefix("this token is for profile 'wrok', not 'nothing'") == true
    )
    // A thief reads what everybody reads.
    let none = try EndpointClient(fixture).ask(nil)
    for (uid, unit, token) in [
      (1001, nil, users), (1000, "other.service", units), (1000, nil, units),
    ] as [(UInt32, String?, Secret)] {
      expect(try EndpointClient(fixture, uid: uid, unit: unit).ask(token) == none)
    }
  }

  @Test func aTokenOfNoProfileIsInTheJournal() throws {
    let fixture = try profiles("")
    fixture.service.tokenGiven(for: "p0", to: .unit("right.service"))
    fixture.service.tokenGiven(for: "p9", to: .unit("typo.service"))
    fixture.service.tokenGiven(for: "p9", to: .user(1000))
    expect(
      fixture.host.log.messages.filter { $0.contains("asks for a token") },
      equals: ["typo.service", "uid 1000"].map {
        "\($0) asks for a token of profile 'p9', which is not configured; did you mean 'p0'?"
      })
  }

  /// A user could ask for tokens of any names.
  @Test func theNotesOnGivenTokensAreBounded() throws {
    let lock = try #require(EndpointLock.test)
    var given = GivenTokens()
    func profile(_ uid: UInt32, _ name: String) throws -> String? {
      let token = try #require(EndpointToken(try EndpointLock.token(.user(uid), for: name)))
      return given.profile(of: token, ofUser: uid, unit: nil, lock)
    }
    for number in 0..<9 { given.note("p\(number)", to: .user(1)) }
    expect(try profile(1, "p8"), equals: "p8")
    expect(try profile(1, "p5"), equals: "p5")
    expect(try profile(1, "p4") == nil)
    for uid in 2...UInt32(GivenTokens.owners) { given.note("a", to: .user(uid)) }
    expect(try profile(1, "p8"), equals: "p8")
    given.note("a", to: .user(9999))
    expect(try profile(1, "p8") == nil)
    expect(try profile(9999, "a"), equals: "a")
  }

  @Test func aUnitsTokenOpensForTheUnitWhateverItsUserIs() throws {
    let fixture = try ServiceFixture()
    let token = try EndpointLock.token(.unit("billing.service"))
    for uid in [1000, 1001, 0] as [UInt32] {
      let client = EndpointClient(fixture, uid: uid, unit: "billing.service")
      expect(try client.ask(token).status, equals: 200, "uid \(uid)")
    }
  }

  @Test func rootCountsOnlyWhereItIsNamedOrByItsUnitsToken() throws {
    let fixture = try profiles("", "allow_users = root", "allow_users = *", "allow_users = 0")
    let statuses = try (0...3).map { number in
      let token = try EndpointLock.token(.user(0), for: "p\(number)")
      return try EndpointClient(fixture, uid: 0).ask("p\(number)", token).status
    }
    expect(statuses, equals: [403, 200, 403, 200])
    let units = try EndpointLock.token(.unit("a.service"), for: "p0")
    expect(
      try EndpointClient(fixture, uid: 0, unit: "a.service").ask("p0", units).status, equals: 200)
  }

  @Test func whatIsNotForTheCallerReadsLikeWhatDoesNotExist() throws {
    let fixture = try profiles(
      "allow_users = bob", "allow_executables = /usr/bin/aws", "allow_units = billing.service")
    let answers = try ["p0", "p1", "p2", "nothing"].map { name in
      try EndpointClient(fixture).ask(name, try EndpointLock.token(.user(1000), for: name))
    }
    expect(answers.allSatisfy { $0.status == 403 && $0 == answers[0] })
    expect(fixture.host.upstreams.calls("token"), equals: 0)
  }

  /// The answer names none.
  @Test func theJournalNamesTheRuleOfEachRefusal() throws {
    let fixture = try profiles(
      "allow_users = bob", "allow_executables = /usr/bin/aws",
      "allow_groups = developers\nallow_units = billing.service", "allow_users = *")
    for (name, uid) in [("p0", 1000), ("p1", 1000), ("p2", 1000), ("p3", 0), ("nothing", 1000)] {
      let token = try EndpointLock.token(.user(UInt32(uid)), for: name)
      let client = EndpointClient(fixture, uid: UInt32(uid))
      for _ in 0..<2 { expect(try client.ask(name, token).status, equals: 403) }
    }
    // Whoever asks for names that there are not fills no journal.
    let token = try EndpointLock.token(.user(1000), for: "nowhere")
    expect(try EndpointClient(fixture).ask("nowhere", token).status, equals: 403)
    let entries = fixture.host.log.entries.filter { $0.message.hasPrefix("refused a request") }
    expect(
      entries.map { ($0["profile"] ?? "") + ": " + ($0["reason"] ?? "") },
      equals: [
        "p0: allow_users does not name it",
        "p1: profile 'p1' is not served to HTTP clients: allow_executables needs a program, and the "
          + "kernel names none for a TCP connection",
        "p2: allow_groups, allow_units do not name it",
        "p3: profile 'p3' is not served to root's HTTP clients: forwarders run as root; name root in "
          + "allow_users, or use the token of a unit",
        "nothing: there is no profile 'nothing'",
      ])
    expect(entries.allSatisfy { $0["transport"] == "endpoint" && $0["code"] != nil })
  }

  @Test func unitsAndGroupsAreAdmittedAsOnTheSocket() throws {
    let fixture = try profiles("allow_units = billing.service", "allow_groups = developers")
    let token = try EndpointLock.token(.user(1000), for: "p0")
    let inUnit = EndpointClient(fixture, unit: "billing.service")
    expect(try inUnit.ask("p0", token).status, equals: 200)
    // The groups are those of the user database: the kernel says none.
    let other = try EndpointLock.token(.user(1000), for: "p1")
    expect(try EndpointClient(fixture).ask("p1", other).status, equals: 403)
    fixture.host.queries.setGroups([500], of: 1001)
    let bobs = try EndpointLock.token(.user(1001), for: "p1")
    expect(try EndpointClient(fixture, uid: 1001).ask("p1", bobs).status, equals: 200)
  }

  @Test func aReloadThatWithdrawsAProfileEndsCachedAnswers() throws {
    let fixture = try ServiceFixture()
    let client = EndpointClient(fixture)
    let token = try EndpointLock.token(.user(1000))
    expect(try client.ask(token).status, equals: 200)
    try fixture.reload(Configured.usual(profile: "allow_users = bob"))
    expect(try client.ask(token).status, equals: 403)
  }

  @Test func aSignInIsAskedForWithAFinalStatus() throws {
    let fixture = try ServiceFixture(Configured.password())
    let answer = try EndpointClient(fixture).ask(try EndpointLock.token(.user(1000)))
    expect(answer.status, equals: 403)
    expect(answer["Code"]?.text, equals: "SignInRequired")
  }

  @Test func aClientThatAsksForItIsDisconnectedAfterTheAnswer() throws {
    let fixture = try ServiceFixture()
    let client = EndpointClient(fixture)
    let token = try EndpointLock.token(.user(1000))
    expect(try client.ask(token, closes: true).text.contains("\r\nConnection: close\r\n"))
    expect(client.isFinished)
    let second = EndpointClient(fixture)
    expect(!(try second.ask(token).text.contains("Connection: close")))
    expect(try second.ask(token, closes: true).text.contains("\r\nConnection: close\r\n"))
    expect(second.isFinished)
  }

  @Test func aClientThatLeavesWhileItWaitsDisturbsNobody() throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.delays["token"] = .milliseconds(300)
    let token = try EndpointLock.token(.user(1000))
    let one = EndpointClient(fixture)
    let other = EndpointClient(fixture)
    one.send(token)
    other.send(token)
    one.leave()
    fixture.advance(by: .seconds(1))
    expect(other.answers.first?.status, equals: 200)
    expect(one.answers.isEmpty)
  }

  /// The first caller starts the daemon.
  @Test(arguments: [true, false])
  func aClientThatAsksBeforeTheLockIsMadeWaits(isMade: Bool) throws {
    let fixture = try ServiceFixture(Configured.usual())
    fixture.service.endpointStarts()
    let client = fixture.connect()
    client.sendOnly(#"{"op":"endpoint"}"#)
    fixture.advance(by: .seconds(1))
    expect(client.isWaiting)
    fixture.service.endpointStarted(isMade ? EndpointLock.test : nil)
    expect(try client.next().errorCode, equals: (isMade ? nil : "EndpointOff"))
  }

  @Test func theSocketSaysWhereTheEndpointIsAndGivesATokenForIt() throws {
    let fixture = try profiles("", "allow_users = bob", "allow_executables = /usr/bin/aws")
    expect(
      try fixture.ask(#"{"op":"endpoint","profile":"p0"}"#).errorCode, equals: "EndpointOff")
    let client = EndpointClient(fixture)
    let reply = try fixture.ask(#"{"op":"endpoint","profile":"p0"}"#)
    expect(reply["Url"]?.text, equals: "http://127.0.0.1:337/credentials/p0")
    expect(reply["NetworkNamespace"]?.integer, equals: 4)
    let token = try #require(reply["Token"]?.secret)
    expect(try client.ask("p0", token).status, equals: 200)
    expect(try EndpointClient(fixture, uid: 1001).ask("p0", token).status, equals: 401)
    for name in ["p1", "p2", "nothing"] {
      expect(
        try fixture.ask(#"{"op":"endpoint","profile":"\#(name)"}"#).errorCode,
        equals: "AccessDenied")
    }
    expect(
      try fixture.ask(#"{"op":"endpoint","profile":"p0"}"#, uid: 0).errorMessage?
        .contains("forwarders run as root") == true)
  }

  @Test func theEndTellsWaitingClientsToTryAgain() throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.faults["token"] = .hang
    let client = EndpointClient(fixture)
    client.send(try EndpointLock.token(.user(1000)))
    fixture.service.dismissWaiters()
    expect(client.answers.first?.status, equals: 503)
  }
}

extension EndpointClient {
  func ask(
    _ token: Secret?, closes: Bool = false, _ location: SourceLocation = #_sourceLocation
  ) throws -> Answer { try ask("default", token, closes: closes, location) }

  func send(_ token: Secret?) { send("default", token) }
}
