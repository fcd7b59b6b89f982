import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Who gets what of derived profiles and of their sources.
struct DerivedAccessTests: DerivedTesting {
  private static let password = "login_url = http://127.0.0.1/login"

  @Test(arguments: [
    #"{"op":"login","profile":"narrow"}"#, #"{"op":"logout","profile":"narrow"}"#,
    #"{"op":"release","profile":"narrow"}"#,
    #"{"op":"clear","profile":"narrow","what":"identity"}"#,
    #"{"op":"account","profile":"narrow","action":"get"}"#,
  ])
  func whatIsAboutASignInNamesTheSource(_ line: String) throws {
    let reply = try fixture().ask(line)
    expect(reply.errorCode, equals: "InvalidRequest", "\(reply)")
    expect(reply.errorMessage?.hasSuffix("is for its source, profile 'work'") ?? false, "\(reply)")
  }

  @Test(arguments: ["", #","kind":"developer""#, #","kind":"id""#])
  func noTokenComesOutOfADerivedProfile(_ kind: String) throws {
    let fixture = try fixture()
    _ = try key(fixture)
    let reply = try fixture.ask(#"{"op":"token","profile":"narrow"\#(kind)}"#)
    expect(reply.errorCode, equals: "AccessDenied", "\(reply)")
  }

  // MARK: vend_credentials

  @Test func aSourceThatVendsNothingNamesWhatIsDerivedFromIt() throws {
    let other = Configured.derived(
      "secret", "policy_file = \(Self.policyPath)\nallow_users = bob")
    let fixture = try fixture(Self.text(work: "vend_credentials = no", Self.narrow(), other))
    let reply = try fixture.ask(get("work"))
    expect(reply.errorCode, equals: "AccessDenied", "\(reply)")
    expect(
      reply.errorMessage?.hasSuffix("use one that is derived from it: narrow") ?? false, "\(reply)")
    expect(policies(of: try key(fixture), fixture)?.count, equals: 1)
    expect(try fixture.ask(get("work")).accessKeyID, equals: nil)
  }

  /// The derived profile has brought a session in its source. Its user never had that profile.
  @Test func aSourceThatWasNeverOpenIsNotSaidToBeSoNoLonger() throws {
    let text = Self.text(work: "allow_users = bob", Self.narrow("allow_users = alice"))
    let fixture = try fixture(text)
    expect(try fixture.ask(get("narrow")).accessKeyID != nil)
    let closed = "profile 'work' is not available to 'alice'"
    expect(try fixture.ask(get("work")).errorMessage, equals: closed)
    // Who has had it is told what has changed.
    try fixture.reload(text.replacing("allow_users = bob", with: "allow_users = bob alice"))
    expect(try fixture.ask(get("work")).accessKeyID != nil)
    try fixture.reload(text)
    expect(
      try fixture.ask(get("work")).errorMessage?.hasPrefix("profile 'work' is no longer available"),
      equals: true)
  }

  /// Also on a connection that has a cached answer, and for a client that waits.
  @Test func aReloadToVendNothingCountsForTheNextRequest() throws {
    let fixture = try fixture()
    let client = fixture.connect()
    for _ in 0..<3 { expect(try client.ask(get("work")).accessKeyID != nil) }
    let waiting = fixture.connect()
    fixture.host.upstreams.delays["token"] = .seconds(1)
    waiting.send(get("work", #","refresh":true"#))
    try fixture.reload(Self.text(work: "vend_credentials = no"))
    expect(try client.ask(get("work")).errorCode, equals: "AccessDenied")
    fixture.advance(by: .seconds(5))
    expect(try waiting.next().errorCode, equals: "AccessDenied")
    try fixture.reload(Self.text())
    expect(try client.ask(get("work")).accessKeyID != nil)
  }

  @Test func tokensOfSuchASourceAreGivenByNameAlone() throws {
    for (keys, kind, code) in [
      ("", "", "AccessDenied"), ("", #","kind":"developer""#, "AccessDenied"),
      ("vend_tokens = developer", "", nil),
      ("vend_tokens = developer", #","kind":"developer""#, nil),
    ] as [(String, String, String?)] {
      let fixture = try fixture(Self.text(work: "vend_credentials = no\n\(keys)"))
      let reply = try fixture.ask(#"{"op":"token","profile":"work"\#(kind)}"#)
      expect(reply.errorCode, equals: code, "\(keys) \(kind) \(reply)")
    }
  }

  @Test func whoeverActsForOthersGetsNoMore() throws {
    let fixture = try fixture(
      Self.text(
        work: "vend_credentials = no\nimpersonate = bob", Self.narrow("impersonate = bob")))
    _ = try key(fixture)
    let wide = try fixture.ask(get("work", #","user":"alice""#), uid: 1001)
    expect(wide.errorCode, equals: "AccessDenied", "\(wide)")
    let key = try key(fixture, "narrow", #","user":"alice""#, of: 1001)
    expect(policies(of: key, fixture), equals: [Self.policy(for: "alice")])
  }

  @Test func whoeverActsForOthersIsNotInherited() throws {
    let fixture = try fixture(Self.text(work: "impersonate = bob"))
    let reply = try fixture.ask(get("narrow", #","user":"alice""#), uid: 1001)
    expect(reply.errorCode, equals: "AccessDenied", "\(reply)")
  }

  // MARK: Signing in

  @Test func whereNobodyIsSignedInTheSourceIsNamed() throws {
    let fixture = try fixture(Self.text(backend: Self.password))
    let reply = try fixture.ask(get("narrow", #","wait":0"#))
    expect(reply.errorCode, equals: "SignInRequired", "\(reply)")
    expect(reply.errorMessage?.hasSuffix("sign in there with 'credctl login work'") ?? false)
  }

  @Test func oneWhoMayNotUseTheSourceNeedsAnAdministrator() throws {
    let fixture = try fixture(
      Self.text(
        work: "allow_users = bob", backend: Self.password, Self.narrow("allow_users = alice")))
    let reply = try fixture.ask(get("narrow", #","wait":0"#))
    expect(reply.errorCode, equals: "SignInRequired", "\(reply)")
    expect(
      reply.errorMessage?.hasSuffix("an administrator must admit this user to profile 'work' first")
        ?? false, "\(reply)")
    expect(try fixture.ask(get("work")).errorCode, equals: "AccessDenied")
  }

  @Test func oneWhoMayNotUseTheSourceIsServedByTheHostsWord() throws {
    let fixture = try fixture(
      Self.text(work: "allow_users = bob", Self.narrow("allow_users = alice")))
    expect(policies(of: try key(fixture), fixture)?.count, equals: 1)
    expect(try fixture.ask(get("work")).errorCode, equals: "AccessDenied")
  }

  @Test func oneWaitCoversTheSignInAndTheCall() throws {
    let fixture = try fixture(Self.text(backend: Self.password))
    let client = fixture.connect()
    client.send(get("narrow", #","wait":60"#))
    fixture.advance(by: .seconds(20))
    expect(client.isWaiting)
    _ = try fixture.ask(
      #"{"op":"login","profile":"work","username":"alice","password":"alice-password"}"#)
    fixture.advance(by: .seconds(1))
    let key = try #require(try client.next().accessKeyID)
    expect(policies(of: key, fixture)?.count, equals: 1)
  }

  @Test func releaseOfTheSourceEndsTheWait() throws {
    let fixture = try fixture(Self.text(backend: Self.password))
    let client = fixture.connect()
    client.send(get("narrow", #","wait":60"#))
    let reply = try fixture.ask(#"{"op":"release","profile":"work"}"#)
    expect(reply["Released"]?.integer, equals: 1, "\(reply)")
    expect(try client.next().errorCode, equals: "SignInRequired")
  }

  @Test func aWatcherSeesItsSourcesState() throws {
    let fixture = try fixture(Self.text(backend: Self.password))
    let client = fixture.connect()
    client.send(#"{"op":"watch","profile":"narrow"}"#)
    _ = try fixture.ask(
      #"{"op":"login","profile":"work","username":"alice","password":"alice-password"}"#)
    _ = try key(fixture)
    _ = try fixture.ask(#"{"op":"logout","profile":"work"}"#)
    let states = client.replies.compactMap { $0["State"]?.text ?? $0["Event"]?["State"]?.text }
    expect(states.last, equals: "signedOut", "\(client.replies)")
    expect(states.contains("signedIn"), "\(client.replies)")
  }
}
