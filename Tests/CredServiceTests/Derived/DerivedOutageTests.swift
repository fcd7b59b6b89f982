import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Many derived sessions after an outage of STS.
struct DerivedOutageTests: DerivedTesting {
  private static let users: ClosedRange<UInt32> = 1000...1019
  private static let profiles = ["first", "second", "third"]

  private func fixture() throws -> ServiceFixture {
    let derived = Self.profiles.map {
      Configured.derived($0, "policy_file = \(Self.policyPath)\n")
    }
    let fixture = try fixture(
      Self.text(derived.joined())
        .replacing("[daemon]\n", with: "[daemon]\nassume_role_rate_limit = 2/s\n"))
    for uid in Self.users {
      fixture.host.queries.users[uid] = UserEntry(uid: uid, name: "user\(uid)")
    }
    return fixture
  }

  @Test func theyAreRenewedAtTheRegionsRateWithoutABurst() throws {
    let fixture = try fixture()
    for uid in Self.users {
      for profile in Self.profiles {
        _ = try key(fixture, profile, of: uid)
        fixture.advance(by: .seconds(1))
      }
    }
    fixture.host.upstreams.faults["GetScopedCredentials"] = .status(503)
    fixture.advance(by: .seconds(1000))
    for uid in Self.users {
      for profile in Self.profiles { _ = try key(fixture, profile, of: uid) }
    }
    fixture.advance(by: .seconds(1500))
    fixture.host.upstreams.faults = [:]
    var (most, calls) = (0, calls("GetScopedCredentials", fixture))
    let first = calls
    for _ in 0..<600 {
      fixture.advance(by: .seconds(1))
      let now = self.calls("GetScopedCredentials", fixture)
      most = max(most, now - calls)
      calls = now
    }
    let count = Self.users.count * Self.profiles.count
    expect(calls - first >= count, "\(calls - first) of \(count)")
    // A bucket of two seconds' calls may be full at the beginning.
    expect(most <= 6, "\(most) in a second")
    for uid in Self.users {
      for profile in Self.profiles {
        let held = session(profile, of: uid, fixture)?.machine.credentials
        expect(held.map { $0.expires > fixture.now + .seconds(1500) } ?? false)
      }
    }
  }

  /// Calls of several regions, roles and accounts.
  @Test func theRateHoldsForAllCallsToSTSTogether() throws {
    let regions = ["us-east-1", "us-east-2", "us-west-2", "eu-west-1"]
    let derived = regions.map {
      Configured.derived($0, "policy_file = \(Self.policyPath)\nregion = \($0)\nfips = yes\n")
    }
    let hop = Configured.derived("hop", "role_arn = \(Self.role)")
    let basic = Configured.profile(
      "basic", identifier: "{user}", "flow = basic\nrole_arn = arn:aws:iam::123456789012:role/r")
    let fixture = try fixture(
      Self.text(derived.joined(), hop, basic)
        .replacing("[daemon]\n", with: "[daemon]\nassume_role_rate_limit = 2/s\n"))
    func all() -> Int {
      ["GetScopedCredentials", "AssumeRole", "AssumeRoleWithWebIdentity"]
        .reduce(0) { $0 + calls($1, fixture) }
    }
    _ = try key(fixture, "work")
    let clients = (regions + ["hop", "basic"]).map { profile in
      let client = fixture.connect()
      client.send(get(profile, #","wait":30"#))
      return client
    }
    var before = all()
    for _ in 0..<4 {
      fixture.advance(by: .seconds(1))
      expect(all() - before <= 2, "\(all() - before) in a second")
      before = all()
    }
    // Each has had its turn, in spite of the others.
    for client in clients { expect(try client.next().accessKeyID != nil) }
    expect(all(), equals: clients.count)
  }
}
