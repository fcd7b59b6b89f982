import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Sessions of derived profiles, with what each key that came out may do.
protocol DerivedTesting {}

extension DerivedTesting {
  static var policyPath: String { "/etc/credd/readonly.json" }
  static var policy: String { policy(for: "{user}") }

  static func policy(for user: String) -> String {
    #"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":"arn:aws:s3:::b/\#(user)/*"}]}"#
  }

  static var role: String { "arn:aws:iam::210987654321:role/reports" }

  /// `work`, which everybody may use, and profiles that are derived from it.
  static func text(work: String = "", backend: String = "", _ derived: String...) -> String {
    Configured.http(backend: backend)
      + Configured.profile(
        "work", identifier: "{user}", "sts_endpoint = http://127.0.0.1:4599\n\(work)")
      + (derived.isEmpty ? [narrow()] : derived).joined()
  }

  static func narrow(_ keys: String = "", from source: String = "work") -> String {
    Configured.derived("narrow", from: source, "policy_file = \(policyPath)\n\(keys)")
  }

  static func hop(_ keys: String = "") -> String {
    Configured.derived("hop", "role_arn = \(role)\n\(keys)")
  }

  func fixture(_ text: String = Self.text()) throws -> ServiceFixture {
    let host = FakeHost()
    host.queries.files[Self.policyPath] = Self.policy
    return try ServiceFixture(text, host: host)
  }

  func get(_ profile: String, _ more: String = "") -> String {
    #"{"op":"get","profile":"\#(profile)"\#(more)}"#
  }

  /// The key that a user gets.
  func key(
    _ fixture: ServiceFixture, _ profile: String = "narrow", _ more: String = "",
    of uid: UInt32 = 1000, _ location: SourceLocation = #_sourceLocation
  ) throws -> String {
    let reply = try fixture.ask(get(profile, more), uid: uid, location)
    return try #require(reply.accessKeyID, "\(reply)", sourceLocation: location)
  }

  /// What narrows a key that was given.
  func policies(of key: String, _ fixture: ServiceFixture) -> [String]? {
    fixture.host.upstreams.sts.keys[key]?.policies
  }

  func session(_ profile: String, of uid: UInt32 = 1000, _ fixture: ServiceFixture) -> Session? {
    fixture.service.sessions[SessionKey(uid: uid, profile: profile)]
  }

  func calls(_ operation: String, _ fixture: ServiceFixture) -> Int {
    fixture.host.upstreams.calls(operation)
  }
}
