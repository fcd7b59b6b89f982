import AuthCore
import AuthServer
import AuthStore
import AuthTestSupport
import Foundation
import Synchronization
import NIOHTTP1
import Testing

/// A clock that the test moves.
final class TestClock: Sendable {
  private let time = Mutex(Timestamp(Date.now))

  var now: Timestamp { time.withLock { $0 } }

  func pass(_ interval: Interval) { time.withLock { $0 = $0 + interval } }
}

/// What ends in time, and what several servers or clients do at once.
struct EndingTests {
  @Test(arguments: TestDatabase.allCases)
  func aSignInEndsInTime(_ database: TestDatabase) async throws {
    let clock = TestClock()
    try await TestServer.run(database, now: { clock.now }) { test in
      let host = try await test.enrol()
      _ = try await test.register("zoe")
      let session = try #require(try await test.login(host, "zoe")["SessionToken"])
      clock.pass(.hours(11))
      #expect(try await test.callback(host, "account:zoe", session: session).status == 200)
      clock.pass(.hours(1))
      #expect(
        try await test.callback(host, "account:zoe", session: session).code == "SessionUnknown")
      let headers = [
        ("Authorization", "Bearer " + session), ("Credd-Host-Authorization", "Bearer " + host),
      ]
      #expect(try await test.json("/v1/logout", [:], headers).status == 401)
    }
  }

  @Test(arguments: TestDatabase.allCases)
  func anEnrolmentEndsInTime(_ database: TestDatabase) async throws {
    let clock = TestClock()
    try await TestServer.run(database, now: { clock.now }) { test in
      var random = SystemRandomNumberGenerator()
      let token = Ticket(.host, random: &random)
      try await test.store.enrol(
        Enrolment(
          name: "web1",
          rights: HostRights(
            vouches: try Patterns("alice"), signsIn: try Patterns("zoe"), pools: ["work"]),
          expires: clock.now + .days(1), created: clock.now), token: token)
      _ = try await test.register("zoe")
      let reply = try await test.callback(token.text)
      #expect(reply.status == 200)
      #expect(
        reply.headers.first(name: "Credd-Host-Expires") == (clock.now + .days(1)).iso8601)
      let session = try #require(try await test.login(token.text, "zoe")["SessionToken"])
      // Before the sign-in does.
      clock.pass(.hours(23))
      let later = try #require(try await test.login(token.text, "zoe")["SessionToken"])
      #expect(later != session)
      clock.pass(.hours(1))
      #expect(try await test.callback(token.text).code == "HostNotAuthorized")
      #expect(
        try await test.callback(token.text, "account:zoe", session: later).code
          == "HostNotAuthorized")
      #expect(try await test.login(token.text, "zoe").code == "HostNotAuthorized")
    }
  }

  @Test(arguments: TestDatabase.allCases)
  func ofTwoTokensTheEarlierEndsAfterTheOverlap(_ database: TestDatabase) async throws {
    let clock = TestClock()
    try await TestServer.run(database, now: { clock.now }) { test in
      let first = try await test.enrol()
      var random = SystemRandomNumberGenerator()
      let second = Ticket(.host, random: &random)
      let rotation = try await test.store.rotate(
        host: "web1", token: second, earlierUntil: clock.now + .hours(1), now: clock.now)
      #expect(rotation?.earlierUntil == clock.now + .hours(1))
      #expect(try await test.callback(first).status == 200)
      #expect(try await test.callback(second.text).status == 200)
      clock.pass(.hours(2))
      #expect(try await test.callback(first).code == "HostNotAuthorized")
      #expect(try await test.callback(second.text).status == 200)
    }
  }

  @Test(arguments: TestDatabase.allCases)
  func anInvitationThatTwoTakeAtOnceIsGoodOnce(_ database: TestDatabase) async throws {
    try await TestServer.run(
      database, { $0.registration = .invite },
      { test in
        var random = SystemRandomNumberGenerator()
        let invitation = Ticket(.invitation, random: &random)
        let now = Timestamp(Date.now)
        try await test.store.invite(invitation, name: "yan", expires: now + .days(1), now: now)
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
          for password in ["three plain words", "four", "five", "six"] {
            group.addTask {
              try await test.json(
                "/v1/register",
                [
                  "Username": "yan", "Password": password + " plain words",
                  "Invitation": invitation.text,
                ]
              ).status
            }
          }
          return try await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(statuses.sorted() == [201, 403, 403, 403])
        #expect(try await test.store.users().count == 1)
      })
  }

  @Test(arguments: TestDatabase.allCases)
  func twoServersRememberOneIdentity(_ database: TestDatabase) async throws {
    let place = try database.make()
    let cognito = FakeCognito(delay: .milliseconds(20))
    try await TestServer.run(.sqlite, cognito: cognito, { $0.database = place }) { one in
      try await TestServer.run(.sqlite, cognito: cognito, { $0.database = place }) { other in
        let host = try await one.enrol()
        let replies = try await withThrowingTaskGroup(of: TestServer.Reply.self) { group in
          for index in 0..<20 {
            group.addTask {
              try await (index % 2 == 0 ? one : other).callback(host, forced: true)
            }
          }
          return try await group.reduce(into: [TestServer.Reply]()) { $0.append($1) }
        }
        #expect(replies.allSatisfy { $0.status == 200 })
        #expect(Set(replies.map { $0["IdentityId"] }).count == 1)
        let recorded = try await one.store.identities(of: "alice").map(\.id)
        #expect(recorded == [cognito.identity(of: "alice")])
        #expect(try await one.store.verifyAudit(heads: []).faults.isEmpty)
      }
    }
  }

  /// The second listens on IPv6 for IPv4 too.
  @Test(arguments: ["::1", "::"])
  func loopbackOfIPv6IsThisMachine(_ address: String) async throws {
    // No pause ends between the tries, however busy the machine.
    let now = Timestamp(Date.now)
    try await TestServer.run(
      .sqlite, now: { now }, { $0.listen = .network(host: address, port: 0) },
      { test in
        let host = try await test.enrol()
        let port = try #require(URL(string: test.base)?.port)
        let client = TestServer(
          server: test.server, store: test.store, cognito: test.cognito,
          base: address == "::1" ? "http://[::1]:\(port)" : test.base, http: test.http)
        #expect(try await client.callback(host).status == 200)
        // Counted by its address, as everybody is.
        for index in 0..<5 { #expect(try await client.register("zoe\(index)").status == 201) }
        #expect(try await client.register("zoe5").status == 429)
      })
  }
}

/// Where the server's own AWS credentials come from.
struct CredentialSourceTests {
  private struct Script {
    let folder: TestFolder
    var path: String { folder.path + "/keys" }

    init(_ rest: String) throws {
      folder = try TestFolder()
      try "echo x >>\(folder.path)/count\n\(rest)\n".write(
        toFile: path, atomically: false, encoding: .utf8)
    }

    func count() throws -> Int {
      try String(contentsOfFile: folder.path + "/count", encoding: .utf8).count / 2
    }
  }

  private static let keys =
    #"echo '{"Version": 1, "AccessKeyId": "AKIA", "SecretAccessKey": "s", "#
    + #""Expiration": "2099-01-01T00:00:00Z"}'"#

  @Test func aSourceThatFailsIsAskedAgainAfterAMoment() async throws {
    let clock = TestClock()
    let script = try Script("exit 1")
    let credentials = AWSCredentials(
      .process(["/bin/bash", script.path]), now: { clock.now })
    for _ in 0..<5 {
      await #expect(throws: AWSCredentials.Failure.self) { try await credentials.keys() }
    }
    #expect(try script.count() == 1)
    clock.pass(.seconds(6))
    await #expect(throws: AWSCredentials.Failure.self) { try await credentials.keys() }
    #expect(try script.count() == 2)
    // Also where the clock was set back.
    clock.pass(Interval(milliseconds: -86_400_000))
    await #expect(throws: AWSCredentials.Failure.self) { try await credentials.keys() }
    #expect(try script.count() == 3)
  }

  /// Cognito refuses what it gives.
  @Test func aSourceOfWrongKeysIsNotAskedForEachCall() async throws {
    let clock = TestClock()
    let script = try Script(Self.keys)
    let credentials = AWSCredentials(
      .process(["/bin/bash", script.path]), now: { clock.now })
    for _ in 0..<5 { await credentials.forget(try await credentials.keys()) }
    #expect(try script.count() == 1)
    clock.pass(.seconds(6))
    await credentials.forget(try await credentials.keys())
    _ = try await credentials.keys()
    #expect(try script.count() == 2)
  }

  @Test func keysAreReadAnewBeforeTheyEnd() async throws {
    let clock = TestClock()
    let script = try Script(Self.keys)
    let credentials = AWSCredentials(
      .process(["/bin/bash", script.path]), now: { clock.now })
    let keys = try await credentials.keys()
    let end = try #require(keys.end)
    clock.pass(end - clock.now)
    clock.pass(Interval(milliseconds: -360_000))
    _ = try await credentials.keys()
    #expect(try script.count() == 1)
    clock.pass(.minutes(2))
    _ = try await credentials.keys()
    #expect(try script.count() == 2)
  }
}

struct PasswordHasherTests {
  @Test func aPasswordIsTheSameFromEveryKeyboard() async throws {
    var parameters = PasswordHasher.Parameters()
    parameters.memory = 64
    let hasher = try PasswordHasher(threads: 1, parameters: parameters, metrics: Metrics())
    let hash = try await hasher.hash("caf\u{E9} au lait")
    #expect(try await hasher.verify("cafe\u{301} au lait", hash))
    #expect(!(try await hasher.verify("cafe au lait", hash)))
    #expect(!(try await hasher.verify("cafe au lait", nil)))
    await hasher.close()
  }

  @Test func whatCannotBeComputedIsNoWrongPassword() async throws {
    let hasher = try PasswordHasher(threads: 1, metrics: Metrics())
    await #expect(throws: Refusal.self) {
      try await hasher.verify("cafe", "$argon2id$v=19$m=64,t=1,p=1$damaged")
    }
    await hasher.close()
  }
}
