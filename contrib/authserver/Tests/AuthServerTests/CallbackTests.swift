import AuthCore
import Logging
import AuthStore
import AuthTestSupport
import NIOHTTP1
import Testing

@testable import AuthServer

/// `POST /v1/token`: for whom, and as whom.
struct CallbackTests {
  @Test(arguments: TestDatabase.allCases)
  func aHostGetsTokensForThoseItSpeaksFor(_ database: TestDatabase) async throws {
    try await TestServer.run(database) { test in
      let host = try await test.enrol()
      let reply = try await test.callback(host)
      #expect(reply.status == 200)
      #expect(reply["Token"] == "token-1")
      #expect(reply["IdentityPoolId"] == TestServer.poolID)
      #expect(reply["IdentityId"] == test.cognito.identity(of: "alice"))
      #expect(reply.headers.first(name: "Cache-Control") == "no-store")
      #expect(try await test.callback(host, "bob").code == "NotVouched")
      #expect(try await test.callback(host, "bob").status == 403)
      #expect(try await test.callback(host, pool: "us-east-1:99").code == "NotVouched")
      #expect(try await test.callback(host, pool: "us-east-1:12").code == "NotVouched")
      #expect(try await test.callback(host, provider: "x").status == 400)
      #expect(try await test.events("token").count == 1)
      #expect(try await test.events("refused").count >= 3)
    }
  }

  @Test func whoIsNoEnrolledHostLearnsNothing() async throws {
    try await TestServer.run { test in
      let host = try await test.enrol()
      let forged = String(host.dropLast(4)) + "0000"
      let replies = [
        try await test.callback(nil), try await test.callback(forged),
        try await test.callback("crh1_x"), try await test.callback("x", "nobody"),
        try await test.callback(forged, pool: "us-east-1:12"),
      ]
      #expect(Set(replies.map(\.status)) == [401])
      #expect(Set(replies.map(\.body)).count == 1)
      #expect(replies[0].code == "HostNotAuthorized")
      _ = try await test.store.revoke(host: "web1", now: Timestamp(milliseconds: 1))
      #expect(try await test.callback(host).body == replies[0].body)
    }
  }

  @Test func aRegisteredNameIsNotTheUnixUserOfThatName() async throws {
    try await TestServer.run { test in
      let host = try await test.enrol(vouches: "root", signsIn: "*")
      #expect(try await test.register("root").status == 201)
      let login = try await test.login(host, "root")
      #expect(login["DeveloperUserIdentifier"] == "account:root")
      let session = try #require(login["SessionToken"])
      let vouched = try await test.callback(host, "root")
      let account = try await test.callback(host, "account:root", session: session)
      #expect(vouched.status == 200 && account.status == 200)
      #expect(vouched["IdentityId"] != account["IdentityId"])
      // The sign-in is no word for the Unix user.
      #expect(try await test.callback(host, "root", session: session).code == "SessionUnknown")
      #expect(try await test.callback(host, "account:root").code == "SignInRequired")
    }
  }

  @Test func aStolenSignInIsWorthNothingElsewhere() async throws {
    try await TestServer.run { test in
      let (mine, other) = (try await test.enrol(), try await test.enrol("web2"))
      _ = try await test.register("zoe")
      let session = try #require(try await test.login(mine, "zoe")["SessionToken"])
      #expect(try await test.callback(mine, "account:zoe", session: session).status == 200)
      #expect(
        try await test.callback(other, "account:zoe", session: session).code == "SessionUnknown")
      // Without a host's token it is not even looked at.
      #expect(
        try await test.callback(nil, "account:zoe", session: session).code == "HostNotAuthorized")
    }
  }

  @Test func anIdentityOfSomebodyElseIsIgnored() async throws {
    let cognito = FakeCognito()
    cognito.add(identity: "us-east-1:0b", users: ["bob"])
    try await TestServer.run(cognito: cognito) { test in
      let host = try await test.enrol(adopt: true)
      let reply = try await test.callback(host, identity: "us-east-1:0b")
      #expect(reply.status == 200)
      #expect(reply["IdentityId"] != "us-east-1:0b")
      // With a record, the claim is measured by it alone.
      _ = try await test.callback(host, identity: "us-east-1:0b", forced: true)
      let ignored = try await test.events("identityIgnored")
      #expect(ignored.count == 2)
      #expect(ignored.allSatisfy { $0.detail.contains("us-east-1:0b") })
      #expect(ignored[0].detail.contains("othersIdentity"))
      #expect(ignored[1].detail.contains("recordedOther"))
      #expect(cognito.calls.allSatisfy { $0.identityID == nil })
    }
  }

  @Test(arguments: [true, false])
  func aGuestsIdentityIsAdoptedWhereThatIsPermitted(_ may: Bool) async throws {
    let cognito = FakeCognito()
    cognito.add(identity: "us-east-1:0a")
    cognito.add(identity: "us-east-1:0c", logins: ["accounts.google.com"])
    try await TestServer.run(cognito: cognito) { test in
      let host = try await test.enrol(vouches: "alice carol", adopt: may)
      let reply = try await test.callback(host, identity: "us-east-1:0a")
      #expect((reply["IdentityId"] == "us-east-1:0a") == may)
      // One with a login is nobody's to adopt.
      let carol = try await test.callback(host, "carol", identity: "us-east-1:0c")
      #expect(carol["IdentityId"] != "us-east-1:0c")
    }
  }

  /// To both of them Cognito shows nobody on it.
  @Test func aGuestsIdentityIsAdoptedOnce() async throws {
    let cognito = FakeCognito(delay: .milliseconds(200))
    cognito.add(identity: "us-east-1:0a")
    try await TestServer.run(cognito: cognito) { test in
      let one = try await test.enrol(vouches: "alice", adopt: true)
      let two = try await test.enrol("web2", vouches: "mallory", adopt: true)
      async let alice = test.callback(one, "alice", identity: "us-east-1:0a")
      async let mallory = test.callback(two, "mallory", identity: "us-east-1:0a")
      let adopted = try await [alice, mallory].filter { $0["IdentityId"] == "us-east-1:0a" }
      #expect(adopted.count == 1)
      #expect(try await test.events("identityIgnored").count == 1)
    }
  }

  @Test func aMalformedIdentityIsIgnoredToo() async throws {
    try await TestServer.run { test in
      let host = try await test.enrol(adopt: true)
      let reply = try await test.callback(host, identity: "x\r\nX-Evil: 1")
      #expect(reply.status == 200)
      #expect(try await test.events("identityIgnored")[0].detail.contains("malformed"))
      #expect(try await test.events("identityIgnored").allSatisfy { !$0.detail.contains("Evil") })
    }
  }

  @Test func loginsArePassedOnOnlyWithTheRight() async throws {
    try await TestServer.run { test in
      let logins = ["accounts.google.com": "jwt"]
      let without = try await test.enrol()
      let with = try await test.enrol("web2", link: true)
      #expect(try await test.callback(without, logins: logins).status == 200)
      #expect(try await test.callback(with, logins: logins).status == 200)
      #expect(test.cognito.calls.map(\.logins) == [[:], logins])
      #expect(try await test.events("loginsIgnored").count == 1)
      let own = [TestServer.provider: "root"]
      #expect(try await test.callback(with, logins: own).status == 400)
      // Of another pool, and one of which only Cognito knows that it is none of its public ones.
      #expect(try await test.callback(with, logins: ["login.other.app": "root"]).status == 400)
      test.cognito.fail(CognitoFailure(code: "InvalidParameterException", message: "no provider"))
      let unknown = try await test.callback(with, logins: ["strange": "root"])
      #expect(unknown.status == 400 && unknown.code == "LoginsRejected")
      test.cognito.fail(nil)
      #expect(try await test.callback(with, logins: ["x": "a\r\nb"]).status == 400)
    }
  }

  @Test func aYoungTokenIsReusedUnlessANewOneIsAskedFor() async throws {
    try await TestServer.run { test in
      let (one, two) = (try await test.enrol(), try await test.enrol("web2"))
      #expect(try await test.callback(one)["Token"] == "token-1")
      #expect(try await test.callback(one)["Token"] == "token-1")
      #expect(try await test.callback(two)["Token"] == "token-2")
      #expect(try await test.callback(one, forced: true)["Token"] == "token-3")
      #expect(try await test.callback(one)["Token"] == "token-3")
      #expect(try await test.events("tokenReused").count == 2)
    }
  }

  /// As `link remove` and `link merge` do it, in another process.
  @Test func aTokenOfAnIdentityThatWasTakenAwayIsNotReused() async throws {
    try await TestServer.run { test in
      let host = try await test.enrol()
      #expect(try await test.callback(host)["Token"] == "token-1")
      try await test.store.forgetIdentity(of: "alice", pool: "work")
      #expect(try await test.callback(host)["Token"] == "token-2")
      #expect(try await test.callback(host)["Token"] == "token-2")
    }
  }

  /// One host's note that the database refuses keeps nobody else's out.
  @Test func aNoteThatCannotBeWrittenFailsAlone() async throws {
    let store = try await TestDatabase.postgres.makeStore()
    let now = Timestamp(milliseconds: 1_700_000_000_000)
    let audit = AuditLog(
      store: store, chain: "a", metrics: Metrics(),
      faults: DatabaseFaults(log: Logger(label: "test"), metrics: Metrics(), now: { now }),
      now: { now })
    let written = await withTaskGroup(of: Bool.self) { group in
      for index in 0..<50 {
        group.addTask {
          // PostgreSQL's texts hold no null byte.
          let note = AuditNote(index % 10 == 9 ? "\u{0}" : "token", [:], at: now)
          return (try? await audit.write([note])) != nil
        }
      }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(written == 45)
    #expect(try await store.verifyAudit(heads: []).ends.map(\.sequence) == [45])
    await store.close()
  }

  @Test func manyCallbacksAtOnceAreOneCall() async throws {
    let cognito = FakeCognito(delay: .milliseconds(200))
    try await TestServer.run(cognito: cognito) { test in
      let host = try await test.enrol()
      let tokens = try await withThrowingTaskGroup(of: String?.self) { group in
        for _ in 0..<50 { group.addTask { try await test.callback(host)["Token"] } }
        return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
      }
      #expect(tokens == ["token-1"])
      #expect(cognito.calls.count == 1)
      // Each of them is in the audit: as many one by one as one source gets, and the others' number.
      let (new, reused) = (try await test.events("token"), try await test.events("tokenReused"))
      #expect(new.count == 1 && reused.count == Limits.auditEach)
      await test.server.audit.writeNumbers(all: true)
      let last = try #require(try await test.events("tokenReused").last)
      #expect(last.detail.contains(#""count":"\#(49 - Limits.auditEach)""#))
    }
  }

  @Test func aDisabledUserGetsNothingMore() async throws {
    try await TestServer.run { test in
      let host = try await test.enrol()
      #expect(try await test.callback(host).status == 200)
      _ = try await test.store.setDisabled(true, "alice")
      let reply = try await test.callback(host)
      #expect(reply.status == 403 && reply.code == "UserDisabled")
    }
  }

  @Test(arguments: [
    ("TooManyRequestsException", 429, true), ("InternalErrorException", 503, true),
    ("Unreachable", 503, true), ("Credentials", 503, true),
    ("ResourceConflictException", 409, false),
    ("ResourceNotFoundException", 500, false),
  ])
  func cognitosErrorsBecomeTheRightStatus(_ code: String, _ status: Int, _ again: Bool) async throws
  {
    try await TestServer.run { test in
      let host = try await test.enrol()
      test.cognito.fail(CognitoFailure(code: code, message: "secret details"))
      let reply = try await test.callback(host)
      #expect(reply.status == status)
      #expect((reply.headers.first(name: "Retry-After") != nil) == again)
      #expect(!reply.body.contains("secret"))
      // No failure lasts.
      test.cognito.fail(nil)
      #expect(try await test.callback(host).status == 200)
    }
  }

  @Test func anIdentityThatCognitoChangedIsRemembered() async throws {
    try await TestServer.run { test in
      let host = try await test.enrol()
      let old = try #require(try await test.callback(host)["IdentityId"])
      test.cognito.add(identity: old)
      test.cognito.add(identity: "us-east-1:ee", users: ["alice"])
      let reply = try await test.callback(host, forced: true)
      #expect(reply["IdentityId"] == "us-east-1:ee")
      #expect(try await test.events("identityChanged").count == 1)
      #expect(try await test.store.identities(of: "alice").map(\.id) == ["us-east-1:ee"])
    }
  }

  @Test func theQuotaIsKeptAndSaysWhenToComeBack() async throws {
    try await TestServer.run(
      .sqlite, { $0.quota = 5 },
      { test in
        let host = try await test.enrol(vouches: "*")
        let began = ContinuousClock.now
        let replies = try await withThrowingTaskGroup(of: TestServer.Reply.self) { group in
          for index in 0..<60 { group.addTask { try await test.callback(host, "u\(index)") } }
          return try await group.reduce(into: [TestServer.Reply]()) { $0.append($1) }
        }
        let good = replies.filter { $0.status == 200 }.count
        let late = replies.filter { $0.status == 429 }
        #expect(good + late.count == 60)
        // Five at once, and five a second while they wait, at most: on a busy machine most of them are
        // late before the database has answered. How many it should be, the fleet counts in virtual
        // time.
        let seconds = Int((ContinuousClock.now - began).components.seconds) + 1
        #expect(good >= 1 && good <= 5 + 5 * seconds)
        #expect(late.allSatisfy { $0.code == "Throttled" })
        let times = late.compactMap { $0.headers.first(name: "Retry-After").flatMap { Int($0) } }
        #expect(times.count == late.count)
        #expect(times.allSatisfy { (1...300).contains($0) })
      })
  }
}
