import AuthCore
import AuthStore
import AuthTestSupport
import Foundation
import Logging
import NIOHTTP1
import Testing

@testable import AuthServer

/// Registration, sign-in, sign-out.
struct AccountTests {
  @Test func theLogSaysWhichNameMayBeTakenForAnother() async throws {
    let warnings = HeardLog {
      $0.level < .warning ? nil : "\($0.message): \($0.metadata ?? [:])"
    }
    try await TestServer.run(log: warnings.logger) { test in
      for name in ["alice", "\u{430}lice"] {
        let reply = try await test.register(name)
        #expect(reply.status == 201)
      }
    }
    let said = warnings.all
    #expect(said.count == 1 && said[0].contains("the name looks like 'alice'"), "\(said)")
  }

  @Test(arguments: TestDatabase.allCases)
  func fromRegistrationToSignOut(_ database: TestDatabase) async throws {
    try await TestServer.run(database) { test in
      let host = try await test.enrol()
      let registered = try await test.register("zoe")
      #expect(registered.status == 201 && registered["Username"] == "zoe")
      #expect(try await test.register("Zoe").status == 409)
      let stored = try #require(try await test.store.user("account:zoe")?.password)
      #expect(stored.hasPrefix("$argon2id$v=19$"))
      let login = try await test.login(host, "ZOE")
      #expect(login.status == 200)
      #expect(login["DeveloperUserIdentifier"] == "account:zoe")
      let session = try #require(login["SessionToken"])
      #expect(try await test.callback(host, "account:zoe", session: session).status == 200)
      let headers = [
        ("Authorization", "Bearer " + session), ("Credd-Host-Authorization", "Bearer " + host),
      ]
      let body = ["IdentityPoolId": "x", "DeveloperUserIdentifier": "account:zoe"]
      #expect(try await test.json("/v1/logout", body, headers).status == 200)
      #expect(try await test.json("/v1/logout", body, headers).status == 401)
      #expect(
        try await test.callback(host, "account:zoe", session: session).code == "SessionUnknown")
      let events = try await test.events().map(\.event)
      #expect(events == ["registered", "login", "token", "logout", "refused", "refused"])
    }
  }

  @Test func registrationIsAsTheConfigurationSays() async throws {
    for mode in AuthCore.Configuration.Registration.allCases {
      try await TestServer.run(
        .sqlite, { $0.registration = mode },
        { test in
          let plain = try await test.register("zoe")
          #expect(plain.status == (mode == .open ? 201 : 403))
          var random = SystemRandomNumberGenerator()
          let invitation = Ticket(.invitation, random: &random)
          let now = Timestamp(Date.now)
          try await test.store.invite(
            invitation, name: "yan", expires: now + .days(1), now: now)
          let invited = try await test.json(
            "/v1/register",
            [
              "Username": "yan", "Password": "three plain words", "Invitation": invitation.text,
            ])
          #expect(invited.status == (mode == .closed ? 403 : 201))
        })
    }
  }

  @Test func whatIsWrongIsSaid() async throws {
    try await TestServer.run { test in
      let short = try await test.register("zoe", "1234567")
      #expect(short.status == 400 && short.code == "InvalidPassword")
      #expect(try await test.register("zoe", "password123").code == "InvalidPassword")
      #expect(try await test.register("account:zoe").code == "InvalidUsername")
      // With the prefix's colon this mark would be one letter, and the name another one's.
      for name in ["\u{301}zoe", "\u{FE0F}zoe", "account:\u{301}zoe"] {
        #expect(try await test.register(name).code == "InvalidUsername")
      }
      #expect(try await test.register(" zoe").code == "InvalidUsername")
      #expect(try await test.json("/v1/register", ["Username": "zoe"]).code == "InvalidRequest")
    }
  }

  /// Time is not measured: the work is counted, which a busy machine cannot blur.
  @Test func anUnknownUserCostsAsMuchAsAKnownOne() async throws {
    try await TestServer.run { test in
      let host = try await test.enrol(signsIn: "zoe dis yan")
      for name in ["zoe", "dis", "notHere"] { _ = try await test.register(name) }
      _ = try await test.store.setDisabled(true, "account:dis")
      let tries = [
        ("zoe", "wrong password"), ("nobody", "wrong password"), ("dis", "three plain words"),
        ("notHere", "three plain words"), ("account:zoe", "x"), ("", "x"),
        ("zoe", String(repeating: "x", count: 10_000)),
      ]
      var bodies: Set<String> = []
      for (name, password) in tries {
        let before = test.server.metrics.value(of: .hashes)
        let reply = try await test.login(host, name, password)
        #expect(test.server.metrics.value(of: .hashes) == before + 1)
        #expect(reply.status == 401)
        bodies.insert(reply.body)
      }
      #expect(bodies.count == 1)
      #expect(try await test.login(host, "zoe").status == 200)
    }
  }

  @Test func guessingIsSlowedDown() async throws {
    // No time passes between the guesses, however busy the machine.
    let now = Timestamp(Date.now)
    try await TestServer.run(now: { now }) { test in
      let host = try await test.enrol()
      let other = try await test.enrol("web2")
      _ = try await test.register("zoe")
      #expect(try await test.login(other, "zoe").status == 200)
      var statuses: [Int] = []
      for _ in 0..<8 { statuses.append(try await test.login(host, "zoe", "guess").status) }
      #expect(statuses.prefix(5) == [401, 401, 401, 401, 401])
      let last = try await test.login(host, "zoe", "guess")
      #expect(statuses.last == 429 && last.status == 429)
      #expect((1...60).contains(Int(last.headers.first(name: "Retry-After") ?? "") ?? 0))
      // On the host of her own she still signs in.
      #expect(try await test.login(other, "zoe").status == 200)
    }
  }

  @Test func anOldHashIsRenewedAtASignIn() async throws {
    try await TestServer.run { test in
      let host = try await test.enrol()
      var old = PasswordHasher.Parameters()
      old.memory = 128
      let hasher = try PasswordHasher(threads: 1, parameters: old, metrics: Metrics())
      let hash = try await hasher.hash("three plain words")
      await hasher.close()
      _ = try await test.store.register(
        try Identifier(registering: "zoe", as: .account), password: hash, invitation: nil,
        avoidsEnrolments: false, now: Timestamp(Date.now))
      #expect(try await test.login(host, "zoe").status == 200)
      let new = try #require(try await test.store.user("account:zoe")?.password)
      #expect(new != hash && new.contains("m=64"))
      #expect(try await test.login(host, "zoe").status == 200)
      #expect(try await test.store.user("account:zoe")?.password == new)
    }
  }

  @Test func anAccountMadeBeforeNamesWereSharedStillSignsIn() async throws {
    try await TestServer.run(
      .sqlite, { $0.sharedNames = true },
      { test in
        let host = try await test.enrol()
        let hasher = try PasswordHasher(threads: 1, metrics: Metrics())
        let hash = try await hasher.hash("three plain words")
        await hasher.close()
        _ = try await test.store.register(
          try Identifier(registering: "zoe", as: .account), password: hash, invitation: nil,
          avoidsEnrolments: false, now: Timestamp(Date.now))
        #expect(try await test.login(host, "zoe")["DeveloperUserIdentifier"] == "account:zoe")
      })
  }

  @Test func withSharedNamesAnAccountIsTheUserOfThatName() async throws {
    try await TestServer.run(
      .sqlite, { $0.sharedNames = true },
      { test in
        let host = try await test.enrol(vouches: "svc-*", signsIn: "zoe")
        #expect(try await test.register("svc-a").status == 409)
        #expect(try await test.register("zoe").status == 201)
        let login = try await test.login(host, "zoe")
        #expect(login["DeveloperUserIdentifier"] == "zoe")
        let session = try #require(login["SessionToken"])
        #expect(try await test.callback(host, "zoe", session: session).status == 200)
        #expect(try await test.callback(host, "zoe").code == "SignInRequired")
      })
  }
}
