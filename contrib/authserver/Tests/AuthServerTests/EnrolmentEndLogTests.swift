import AuthCore
import AuthStore
import AuthTestSupport
import Foundation
import Logging
import Testing

@testable import AuthServer

/// The server says before it happens that an enrolment ends, and in the audit who came after it.
struct EnrolmentEndLogTests {
  @Test func theLogAndTheMetricsSayWhichEnrolmentEndsNext() async throws {
    let clock = TestClock()
    let lines = HeardLog { entry in
      guard let host = entry.metadata?["host"], let days = entry.metadata?["days"] else {
        return nil
      }
      return "\(host) \(days)"
    }
    var configuration = try AuthCore.Configuration.read([
      (
        name: "test",
        text: "[pool work]\nidentity_pool_id = \(TestServer.poolID)\n"
          + "developer_provider = login.example.app\n"
      )
    ])
    configuration.database = try TestDatabase.sqlite.make()
    var options = Server.Options(configuration: configuration, log: lines.logger)
    options.now = { clock.now }
    let server = try await Server(options)
    for (name, days) in [("web1", 8), ("web2", 40)] {
      try await server.store.enrol(
        Enrolment(
          name: name, rights: HostRights(vouches: try Patterns("a"), pools: ["work"]),
          expires: clock.now + .days(Int64(days)), created: clock.now), token: nil)
    }
    var ends = EnrolmentEnds()
    await server.warnOfEnds(&ends)
    await server.warnOfEnds(&ends)
    await server.eachMinute()
    #expect(lines.all == ["web1 30"])
    #expect(server.metrics.text.contains("credd_authserver_host_expires_seconds 691200\n"))
    clock.pass(.days(15))
    await server.warnOfEnds(&ends)
    await server.eachMinute()
    #expect(lines.all == ["web1 30", "web2 30"])
    #expect(server.metrics.text.contains("credd_authserver_host_expires_seconds 2160000\n"))
    let renewed = clock.now + .days(60)
    _ = try await server.store.change(host: "web2") { $0.expires = renewed }
    await server.eachMinute()
    #expect(server.metrics.text.contains("credd_authserver_host_expires_seconds 5184000\n"))
    clock.pass(.days(60))
    await server.eachMinute()
    #expect(!server.metrics.text.contains("credd_authserver_host_expires_seconds"))
    await server.store.close()
  }

  @Test(arguments: TestDatabase.allCases)
  func theAuditNamesWhoCameTooLate(_ database: TestDatabase) async throws {
    let clock = TestClock()
    try await TestServer.run(database, now: { clock.now }) { test in
      let host = try await test.enrol()
      let now = clock.now
      _ = try await test.store.change(host: "web1") { $0.expires = now + .days(1) }
      #expect(try await test.callback(host).status == 200)
      clock.pass(.days(2))
      #expect(try await test.callback(host).code == "HostNotAuthorized")
      #expect(try await test.login(host, "zoe").code == "HostNotAuthorized")
      let entry = try #require(try await test.events("hostRefused").first)
      #expect(entry.detail.contains(#""host":"web1""#))
      #expect(entry.detail.contains(#""reason":"expired""#))
      let id = host.split(separator: "_")[1]
      #expect(entry.detail.contains(#""address":"127.0.0.1""#) && entry.detail.contains(id))
      // Made-up tokens fill nothing, and hide no host's.
      var random = SystemRandomNumberGenerator()
      for _ in 0..<50 {
        let made = Ticket(.host, random: &random)
        #expect(try await test.callback(made.text).code == "HostNotAuthorized")
      }
      #expect(try await test.events("hostRefused").count == 2 + Limits.auditEach)
    }
  }
}
