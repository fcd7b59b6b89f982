import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// `status` with `profiles`: what is open to the caller, and how one signs in.
struct ProfileListTests {
  private static let text =
    Configured.usual() + """
      [backend people]
      type = http
      url = http://127.0.0.1/token
      login_url = http://127.0.0.1/login
      [backend plain]
      type = http
      method = GET
      url = http://127.0.0.1/token?u={user}
      [profile people]
      identity_pool_id = \(FakeUpstreams.pool)
      developer_provider = login.example.app
      backend = people
      [profile plain]
      identity_pool_id = \(FakeUpstreams.pool)
      developer_provider = login.example.app
      backend = plain
      [profile social]
      identity_pool_id = \(FakeUpstreams.pool)
      [profile bobs]
      identity_pool_id = \(FakeUpstreams.pool)
      allow_users = bob
      [profile mail]
      identity_pool_id = \(FakeUpstreams.pool)
      allow_groups = mail

      """

  /// Each profile with its means.
  private func profiles(_ reply: Reply) -> [String] {
    guard case .array(let profiles) = reply["Profiles"] else { return [] }
    return profiles.map { profile in
      var words = [profile["Profile"]?.text ?? "-"]
      if case .array(let means) = profile["SignIn"]?["Means"] {
        words += means.compactMap(\.text)
      }
      return words.joined(separator: " ")
    }
  }

  @Test func `each caller sees the profiles that it may use, and the means`() throws {
    let fixture = try ServiceFixture(Self.text)
    let ask = #"{"op":"status","profiles":true}"#
    let open = [
      "default host token logins", "people password token logins", "plain host token logins",
      "social token logins",
    ]
    expect(try profiles(fixture.ask(ask)), equals: open.sorted())
    expect(
      try profiles(fixture.ask(ask, uid: 1001)), equals: (open + ["bobs token logins"]).sorted())
    fixture.host.queries.setGroups([8], of: 1000)
    let member = fixture.connect(groups: [8])
    expect(try profiles(member.ask(ask)), equals: (open + ["mail token logins"]).sorted())
    // Root is a user like the others.
    expect(try profiles(fixture.ask(ask, uid: 0)), equals: open.sorted())
    // Asking makes no session.
    expect(fixture.service.sessions.isEmpty)
  }

  @Test func `a withdrawn profile is not listed any more`() throws {
    let fixture = try ServiceFixture(Self.text)
    let client = fixture.connect()
    let ask = #"{"op":"status","profiles":true}"#
    expect(try profiles(client.ask(ask)).contains("social token logins"))
    try fixture.reload(
      Self.text.replacing("[profile social]", with: "[profile social]\nallow_users = bob"))
    expect(try !profiles(client.ask(ask)).contains("social token logins"))
  }

  @Test func `without the key there are no profiles`() throws {
    let reply = try ServiceFixture(Self.text).ask(#"{"op":"status"}"#)
    expect(reply["Profiles"] == nil && reply["Sessions"] != nil)
  }

  @Test func `an error is over after the next success, and with its user`() throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.faults["token"] = .status(503, count: 1)
    expect(try fixture.ask(#"{"wait":0.5}"#).errorCode != nil)
    expect(try fixture.status()?["LastError"]?["Code"]?.text, equals: "BackendUnavailable")
    fixture.advance(by: .seconds(30))
    expect(try fixture.ask().accessKeyID != nil)
    expect(try fixture.status()?["LastError"] == nil)
    fixture.host.upstreams.faults["token"] = .status(403, #"{"message":"alice was bad"}"#)
    expect(try fixture.ask(#"{"refresh":true}"#).errorCode, equals: "BackendRejected")
    expect(
      try fixture.status()?["LastError"]?["Message"]?.text?.contains("alice was bad") == true)
    expect(try fixture.ask(#"{"op":"logout"}"#).state, equals: "signedOut")
    expect(try fixture.status()?["LastError"] == nil)
  }
}
