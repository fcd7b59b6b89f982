import AuthCore
import AuthStore
import AuthTestSupport
import Foundation
import Logging
import Synchronization
import Testing

@testable import AuthServer

/// What the audit says of a request, and how often.
struct AuditTraceTests {
  private func members(_ entry: AuditEntry) throws -> [String: String] {
    try JSONDecoder().decode([String: String].self, from: Data(entry.detail.utf8))
  }

  @Test func everyEntrySaysFromWhereAndByWhichToken() async throws {
    try await TestServer.run { test in
      let host = try await test.enrol(vouches: "alice", signsIn: "zoe")
      let id = try #require(Ticket(host, .host)).id
      #expect(try await test.callback(host, "alice").status == 200)
      #expect(try await test.callback(host, "alice").status == 200)
      #expect(try await test.callback(host, "bob").status == 403)
      #expect(try await test.register("zoe").status == 201)
      #expect(try await test.login(host, "zoe", "wrong").status == 401)
      let session = try #require(try await test.login(host, "zoe")["SessionToken"])
      let headers = [
        ("Authorization", "Bearer " + session), ("Credd-Host-Authorization", "Bearer " + host),
      ]
      #expect(try await test.json("/v1/logout", [:], headers).status == 200)
      let entries = try await test.events()
      let events = [
        "token", "tokenReused", "refused", "registered", "loginFailed", "login", "logout",
      ]
      #expect(entries.map(\.event) == events)
      for entry in entries {
        let members = try members(entry)
        #expect(members["address"] == "127.0.0.1", "\(entry.event)")
        #expect(members["token"] == (entry.event == "registered" ? nil : id), "\(entry.event)")
      }
      // The secret is nowhere.
      let secret = host.split(separator: "_")[2]
      #expect(entries.allSatisfy { !$0.detail.contains(secret) })
      #expect(try await test.store.auditEntries(latest: 9, AuditFilter(user: "bob")).count == 1)
    }
  }

  /// A password that was typed in the name's place, say.
  @Test func whatWasTypedIsNotKept() async throws {
    try await TestServer.run { test in
      let host = try await test.enrol()
      #expect(try await test.login(host, "three plain words").status == 401)
      let entry = try #require(try await test.events("loginFailed").first)
      #expect(try members(entry)["user"] == "unknown" && !entry.detail.contains("plain"))
    }
  }

  @Test(arguments: TestDatabase.allCases)
  func aHostThatIsRefusedAllTheTimeWritesFewEntries(_ database: TestDatabase) async throws {
    let time = Mutex(Timestamp(Date.now))
    try await TestServer.run(database, now: { time.withLock { $0 } }) { test in
      let host = try await test.enrol(vouches: "alice")
      for index in 0..<60 { #expect(try await test.callback(host, "u\(index)").status == 403) }
      #expect(try await test.events("refused").count == Limits.auditEach)
      // Others are written down meanwhile.
      let other = try await test.enrol("web2", vouches: "alice")
      #expect(try await test.callback(other, "bob").status == 403)
      #expect(try await test.events("refused").count == Limits.auditEach + 1)
      time.withLock { $0 = $0 + Limits.auditWindow }
      #expect(try await test.callback(host, "bob").status == 403)
      let entries = try await test.events("refused").map(members)
      #expect(entries.compactMap { $0["count"] } == ["50"])
      let number = try #require(entries.first { $0["count"] != nil })
      #expect(number["host"] == "web1" && number["user"] == nil && number["reason"] == "NotVouched")
    }
  }

  /// Made-up tokens from as many networks as are counted; then a token of a host that was revoked.
  @Test func strangersHideNoHostsToken() async throws {
    try await TestServer.run { test in
      let now = Timestamp(Date.now)
      let host = try await test.enrol(vouches: "alice")
      let proof = HostProof.ticket(try #require(Ticket(host, .host)))
      _ = try await test.store.revoke(host: "web1", now: now)
      let audit = AuditLog(
        store: test.store, chain: "test", metrics: Metrics(),
        faults: DatabaseFaults(
          log: Logger(label: "test"), metrics: Metrics(), now: { now }), now: { now })
      let gate = HostGate(store: test.store, audit: audit, now: { now })
      let other = try #require(Ticket(try await test.enrol("web2"), .host))
      var random = SystemRandomNumberGenerator()
      for index in 0..<2 * (Limits.auditSources.refused + 2 * Limits.auditEach) {
        // A token's id stands in the audit: its secret alone is made up.
        var text = Ticket(.host, random: &random).text
        if index.isMultiple(of: 2) {
          text = text.split(separator: "_").enumerated().map { $0 == 1 ? other.id : String($1) }
            .joined(separator: "_")
        }
        let made = HostProof.ticket(try #require(Ticket(text, .host)))
        _ = try await gate.refusal(
          of: made, RequestOrigin(address: "2001:db8::1", source: "\(index)", proof: made))
      }
      // One network has many addresses.
      let before = try await test.events("hostRefused").count
      for index in 0..<(2 * Limits.auditEach) {
        _ = try await gate.refusal(
          of: proof, RequestOrigin(address: "2001:db8::\(index)", source: "net", proof: proof))
      }
      let entries = try await test.events("hostRefused").dropFirst(before)
      #expect(entries.count == Limits.auditEach)
      #expect(try entries.allSatisfy { try members($0)["reason"] == "revoked" })
    }
  }

  /// Also what tells a thief that a token is good, and gives nothing.
  @Test func eachUseOfATokenIsThere() async throws {
    try await TestServer.run { test in
      let host = try await test.enrol(vouches: "alice")
      #expect(try await test.callback(host, "alice", provider: "login.other").status == 400)
      #expect(try await test.callback(host, "bob", provider: "login.other").status == 403)
      let headers = [("Authorization", "Bearer " + host)]
      let form = ["Username": "zoe", "Password": "x", "DeveloperProviderName": "login.other"]
      #expect(try await test.json("/v1/login", form, headers).status == 400)
      #expect(try await test.json("/v1/logout", [:], headers).status == 401)
      let long = ["Logins": String(repeating: "x", count: 2 * Limits.smallBodyBytes)]
      #expect(try await test.json("/v1/token", long, headers).status == 400)
      let entries = try await test.events().map(members)
      let codes = [
        "InvalidRequest", "NotVouched", "InvalidRequest", "SessionUnknown", "InvalidRequest",
      ]
      #expect(entries.map { $0["reason"] } == codes)
      #expect(entries.allSatisfy { $0["host"] == "web1" && $0["token"] != nil })
    }
  }

  /// While the audit cannot be written nobody gets a token, however many entries there are already;
  /// afterwards the first ones are written again.
  @Test func noTokenIsGivenWithoutAnEntry() async throws {
    let folder = try TestFolder()
    let file = folder.path + "/auth.db"
    func change(_ statement: String) throws {
      _ = try Command.run("/usr/bin/sqlite3", [file, ".timeout 5000", statement])
    }
    try await TestServer.run(.sqlite, { $0.database = .sqlite(path: file) }) { test in
      let host = try await test.enrol(vouches: "alice")
      for _ in 0..<20 { #expect(try await test.callback(host).status == 200) }
      #expect(try await test.events("tokenReused").count == Limits.auditEach)
      try change("ALTER TABLE audit RENAME TO aside")
      // The first is counted still: nobody knows yet.
      _ = try await test.callback(host, "bob")
      for _ in 0..<20 { #expect(try await test.callback(host).status >= 500) }
      try change("ALTER TABLE aside RENAME TO audit")
      for _ in 0..<20 { #expect(try await test.callback(host).status == 200) }
      #expect(try await test.events("tokenReused").count == 2 * Limits.auditEach + 1)
    }
  }

  @Test func aTokenThatIsFetchedAllTheTimeWritesFewEntries() async throws {
    try await TestServer.run { test in
      let host = try await test.enrol(vouches: "alice bob")
      for _ in 0..<50 { #expect(try await test.callback(host, "alice").status == 200) }
      #expect(try await test.events("token").count == 1)
      #expect(try await test.events("tokenReused").count == Limits.auditEach)
      for _ in 0..<2 { #expect(try await test.callback(host, "bob").status == 200) }
      #expect(try await test.events("tokenReused").count == Limits.auditEach + 1)
    }
  }

  /// What was not written one by one is written when the server stops.
  @Test func theNumbersAreWrittenAtTheEnd() async throws {
    let place = try TestDatabase.sqlite.make()
    try await TestServer.run(.sqlite, { $0.database = place }) { test in
      let host = try await test.enrol(vouches: "alice")
      for _ in 0..<30 { #expect(try await test.callback(host, "bob").status == 403) }
    }
    let store = try AuthStore(place, .read)
    let last = try #require(try await store.auditEntries(latest: 1).last)
    #expect(try members(last)["count"] == "20")
    await store.close()
  }

  @Test func theLogSaysAtOnceAndSeldomWhatIsWrongWithTheDatabase() {
    let time = Mutex(Timestamp(milliseconds: 1_700_000_000_000))
    let lines = Mutex<[String]>([])
    let log = Logger(label: "test") { _ in
      StructuredLog(level: .info) { line in
        lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
      }
    }
    let metrics = Metrics()
    let faults = DatabaseFaults(log: log, metrics: metrics, now: { time.withLock { $0 } })
    for _ in 0..<1000 { faults.note(StoreError.full("auth.db")) }
    #expect(lines.withLock { $0.count } == 1)
    #expect(lines.withLock { $0[0].contains("no room is left") && $0[0].contains("'host revoke'") })
    #expect(metrics.text.contains("credd_authserver_database_up 0"))
    time.withLock { $0 = $0 + .minutes(1) }
    faults.note(StoreError.full("auth.db"))
    #expect(lines.withLock { $0.count == 2 && $0[1].contains(#""failures":"1000""#) })
    // Each kind has its own line, however its reasons and requests that succeed come in between.
    for index in 0..<100 {
      faults.note(StoreError.unavailable("gone \(index)"))
      faults.note(StoreError.full("auth.db"))
    }
    #expect(lines.withLock { $0.count } == 3)
    for _ in 0..<2 { faults.end() }
    #expect(lines.withLock { $0.count == 4 && $0[3].contains("takes what is written again") })
    #expect(metrics.text.contains("credd_authserver_database_up 1"))
    for _ in 0..<100 {
      faults.note(StoreError.unavailable("gone"))
      faults.end()
    }
    #expect(lines.withLock { $0.count } == 4)
  }
}

@Suite(.serialized, .enabled(if: SmallDisk.isPossible, "takes root, to mount a small disk"))
struct FullDiskServerTests {
  @Test func theServerSaysSoAndComesBack() async throws {
    let disk = try SmallDisk(megabytes: 16)
    defer { disk.remove() }
    try await TestServer.run(
      .sqlite,
      {
        $0.database = .sqlite(path: disk.path + "/auth.db")
      }
    ) { test in
      let host = try await test.enrol(vouches: "*")
      #expect(await test.server.admin.readiness().status == 200)
      try disk.fill()
      // As long as SQLite has room.
      for index in 0..<5000 {
        let reply = try await test.callback(host, "u\(index)")
        if reply.status == 503 { break }
        #expect(reply.status == 200)
      }
      let reply = try await test.callback(host, "late")
      #expect(reply.status == 503 && reply.code == "DatabaseUnavailable")
      let ready = await test.server.admin.readiness()
      #expect(ready.status == 503)
      #expect(String(decoding: ready.body, as: UTF8.self).contains("no room is left on the disk"))
      #expect(test.server.metrics.text.contains("credd_authserver_database_up 0"))
      #expect(try await test.store.revoke(host: "web1", now: Timestamp(Date.now)))
      #expect(try await test.callback(host, "late").status != 200)
      try disk.empty()
      #expect(await test.server.admin.readiness().status == 200)
      #expect(try await test.callback(host, "late").status == 401)
    }
  }
}
