import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// A derived profile over a socket with a cap that does not name its source.
struct DerivedSocketTests: DerivedTesting {
  private static let operations = "profiles = narrow\noperations = get identity watch"

  private func fixture(backend: String = "") throws -> ServiceFixture {
    try fixture(
      Self.text(backend: backend, Self.narrow())
        + "[socket \(SocketCapTests.path)]\n\(Self.operations)\n")
  }

  @Test func `refresh renews the derived credentials alone`() throws {
    let fixture = try fixture()
    let first = try key(fixture)
    fixture.advance(by: .seconds(60))
    let client = fixture.connect(at: SocketCapTests.capped)
    let second = try #require(client.ask(#"{"refresh":true}"#).accessKeyID)
    expect(second != first)
    expect(policies(of: second, fixture)?.count, equals: 1)
    expect(calls("GetScopedCredentials", fixture), equals: 2)
    expect(calls("token", fixture), equals: 1)
    expect(calls("GetCredentialsForIdentity", fixture), equals: 1)
  }

  @Test func `the source is named nowhere`() throws {
    let fixture = try fixture()
    let client = fixture.connect(at: SocketCapTests.capped)
    let given = try client.ask("{}")
    expect(given.accessKeyID != nil)
    let identity = try client.ask(#"{"op":"identity"}"#)
    expect(identity["Policy"]?.text, equals: "readonly.json")
    let watch = try client.ask(#"{"op":"watch"}"#)
    expect(watch["Profile"]?.text, equals: "narrow")
    for reply in [given, identity, watch] { expect(!reply.text.contains("work"), "\(reply)") }
    let main = try fixture.ask(#"{"op":"identity","profile":"narrow"}"#)
    expect(main["Source"]?.text, equals: "work")
  }

  @Test func `a sign-in for a derived profile is made elsewhere`() throws {
    let login = "login_url = http://127.0.0.1/login\nlogout_url = http://127.0.0.1/logout"
    let fixture = try fixture(backend: login)
    let reply = try fixture.connect(at: SocketCapTests.capped).ask(#"{"wait":0}"#)
    expect(reply.errorCode, equals: "SignInRequired")
    expect(reply.errorMessage?.hasSuffix("sign in outside of this socket") ?? false, "\(reply)")
    expect(!reply.text.contains("work"), "\(reply)")
  }

  @Test func `the source's trouble is told elsewhere`() throws {
    let fixture = try fixture()
    fixture.host.upstreams.faults["token"] = .failure(.connect)
    let reply = try fixture.connect(at: SocketCapTests.capped).ask("{}")
    expect(reply.errorCode, equals: "BackendUnavailable", "\(reply)")
    expect(reply.errorMessage, equals: ProtocolError.toldElsewhere)
    expect(!reply.text.contains("corp"), "\(reply)")
    let main = try fixture.ask(get("narrow"))
    expect(main.errorMessage?.contains("backend 'corp'") ?? false, "\(main)")
  }

  /// The session of the source belonged to a user with a name, which the host has forgotten.
  @Test func `a refusal for want of a user name names the profile that was asked for`() throws {
    let fixture = try fixture()
    _ = try fixture.ask(get("work"))
    fixture.host.queries.users[1000] = nil
    fixture.advance(by: .seconds(120))
    let reply = try fixture.connect(at: SocketCapTests.capped).ask("{}")
    expect(reply.errorCode, equals: "AccessDenied", "\(reply)")
    expect(reply.errorMessage?.contains("no user name") ?? false, "\(reply)")
    expect(!reply.text.contains("work"), "\(reply)")
  }
}
