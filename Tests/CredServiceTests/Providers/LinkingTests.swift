import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Sign-ins by browser that the backend links to its own user (`link_backend`), in virtual time.
final class LinkingTests {
  // MARK: Sign-in

  @Test func aSignInIsLinkedAfterAWord() throws {
    let host = try LinkedHost()
    expect(try host.ask().accessKeyID != nil)
    let identity = try host.ask(#"{"op":"identity"}"#)["IdentityId"]?.text
    let asked = try host.signIn()
    let parameters = asked["Challenge"]?["Parameters"]
    expect(asked["Challenge"]?["Step"]?.text, equals: "confirm")
    expect(parameters?["LinksTo"]?.text, equals: identity)
    expect(parameters?["Username"]?.text, equals: "alice")
    expect(parameters?["Subject"]?.text, equals: "s-alice")
    // The backend was told nothing so far.
    expect(host.linked, equals: [nil])
    let reply = try host.ask(asked.response("confirm", "true"))
    expect(reply.state, equals: "signedIn", "\(reply)")
    expect(reply["SignedInBy"]?.text, equals: "host")
    expect(reply["Subject"]?.text, equals: "s-alice")
    expect(reply["IdentityId"]?.text, equals: identity)
    expect(host.linked.count, equals: 2)
    expect(host.linked.last??.hasPrefix("ey") == true)
    expect(try host.ask().accessKeyID != nil)
  }

  @Test func whereNoIdentityIsKnownTheUserIsAskedToo() throws {
    let host = try LinkedHost()
    let asked = try host.signIn()
    expect(asked["Challenge"]?["Parameters"]?["LinksTo"]?.text, equals: "login.example.app")
    expect(host.linked.isEmpty)
    expect(try host.ask(asked.response("confirm", "true")).state, equals: "signedIn")
    expect(host.linked.count, equals: 1)
    expect(host.linked.first??.isEmpty == false)
  }

  @Test func aWordThatIsNotGivenLinksNothing() throws {
    let host = try LinkedHost()
    _ = try host.ask()
    let asked = try host.signIn()
    let handle = asked["Challenge"]?["Handle"]?.text ?? ""
    expect(
      try host.ask(#"{"op":"respond","handle":"\#(handle)","cancel":true}"#).state,
      equals: "signedIn")
    host.fixture.advance(by: .seconds(60))
    _ = try host.ask(#"{"refresh":true}"#)
    expect(host.linked, equals: [nil, nil])
  }

  @Test func theSamePersonIsLinkedAgainWithoutAWord() throws {
    let host = try LinkedHost()
    try host.link()
    expect(try host.signIn().state, equals: "signedIn")
  }

  @Test func anotherPersonIsLinkedOnlyAfterAWordThatNamesBoth() throws {
    let host = try LinkedHost()
    try host.link()
    host.provider.user = "bob"
    let asked = try host.signIn()
    expect(asked["Challenge"]?["Parameters"]?["Replaces"]?.text, equals: "alice")
    expect(asked["Challenge"]?["Parameters"]?["Username"]?.text, equals: "bob")
    expect(asked["Challenge"]?["Parameters"]?["LinksTo"]?.text != nil)
  }

  @Test func aBackendThatRefusesTheLinkLeavesTheSession() throws {
    let host = try LinkedHost()
    let key = try host.ask().accessKeyID
    let refusal = FakeHTTP.Answer.reply(409, #"{"message":"another user has this login"}"#)
    host.refusals = [refusal, refusal, refusal]
    let asked = try host.signIn()
    let reply = try host.ask(asked.response("confirm", "true"))
    expect(reply.errorCode != nil, "\(reply)")
    expect(try host.ask().accessKeyID, equals: key)
    // Nobody has the tokens of the sign-in: they end there.
    host.fixture.advance(by: .seconds(1))
    expect(host.provider.live.isEmpty)
    host.refusals = []
    host.fixture.advance(by: .seconds(600))
    _ = try host.ask(#"{"refresh":true}"#)
    expect(host.linked.last, equals: .some(nil))
  }

  @Test func whereThePasswordIsMissingNobodyIsLinked() throws {
    let host = try LinkedHost(
      Configured.linking(corp: "login_url = http://127.0.0.1/login"))
    let reply = try host.ask(LinkedHost.login)
    expect(reply.errorCode, equals: "SignInRequired", "\(reply)")
    expect(reply.errorMessage?.contains("password") == true)
    let line = #"{"op":"login","username":"alice","password":"alice-password"}"#
    expect(try host.ask(line).state, equals: "signedIn")
    try host.link()
    expect(host.linked.last??.hasPrefix("ey") == true)
  }

  /// `require.…` and the word of consent cannot be gone round.
  @Test func aClientCannotBringTheProvidersTokenItself() throws {
    let host = try LinkedHost()
    let line = #"{"op":"login","logins":{"login.example.com":"e30.e30.e30"}}"#
    expect(try host.ask(line).errorCode, equals: "InvalidRequest")
  }

  @Test func aClientLearnsThatABrowserLinks() throws {
    let host = try LinkedHost()
    let reply = try host.ask(#"{"op":"status","profiles":true}"#)
    let signIn = reply["Profiles"]?[0]?["SignIn"]
    let means = ["host", "browser", "paste", "device", "token", "logins"]
    expect(signIn?["Means"], equals: .array(means.map { .string(Secret($0)) }))
    expect(signIn?["RedirectUris"]?[0]?.text, equals: "http://127.0.0.1/okta")
  }

  // MARK: Callbacks

  @Test func eachCallbackBringsAFreshIDToken() throws {
    let host = try LinkedHost()
    try host.link()
    var tokens: Set<String> = []
    for _ in 0..<4 {
      host.fixture.advance(by: .seconds(3600))
      expect(try host.ask(#"{"refresh":true,"wait":60}"#).accessKeyID != nil)
      tokens.insert(try #require(host.linked.last ?? nil))
    }
    expect(tokens.count, equals: 4)
    // Each refresh token was used once.
    expect(Set(host.renewals).count, equals: host.renewals.count)
    expect(host.renewals.count >= 4)
  }

  @Test func aProviderThatIsAwayHoldsUpNoCallback() throws {
    let host = try LinkedHost()
    try host.link()
    host.fixture.advance(by: .seconds(3600))
    host.provider.faults["token"] = Array(repeating: .failure(.connect), count: 4)
    expect(try host.ask(#"{"refresh":true,"wait":60}"#).accessKeyID != nil)
    expect(host.linked.last, equals: .some(nil))
    host.provider.faults = [:]
    host.fixture.advance(by: .seconds(3600))
    expect(try host.ask(#"{"refresh":true,"wait":60}"#).accessKeyID != nil)
    expect(host.linked.last??.hasPrefix("ey") == true)
  }

  @Test func aSignInThatEndedThereEndsNoSession() throws {
    let host = try LinkedHost()
    try host.link()
    let watcher = host.fixture.connect()
    watcher.send(#"{"op":"watch"}"#)
    _ = try watcher.next()
    host.fixture.advance(by: .seconds(3600))
    host.provider.faults["token"] = [FakeProvider.error("invalid_grant")]
    expect(try host.ask(#"{"refresh":true,"wait":60}"#).accessKeyID != nil)
    expect(try host.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
    let told = try watcher.next()
    expect(told["Event"]?.text, equals: "degraded", "\(told)")
    expect(told["Error"]?["Message"]?.text?.contains("linked sign-in") == true, "\(told)")
    // The dead token is not sent again.
    let count = host.provider.forms.count
    host.fixture.advance(by: .seconds(3600))
    _ = try host.ask(#"{"refresh":true,"wait":60}"#)
    expect(host.provider.forms.count, equals: count)
  }

  @Test(arguments: [true, false])
  func aLinkedPersonWhoBecomesAnotherEndsTheLink(_ rotates: Bool) throws {
    let host = try LinkedHost()
    host.provider.rotates = rotates
    try host.link()
    host.fixture.advance(by: .seconds(3600))
    host.provider.user = "mallory"
    expect(try host.ask(#"{"refresh":true,"wait":60}"#).accessKeyID != nil)
    expect(host.linked.last, equals: .some(nil))
    expect(try host.ask(#"{"op":"identity"}"#)["Subject"] == nil)
    host.fixture.advance(by: .seconds(1))
    expect(host.provider.live.isEmpty)
  }

  /// A renewal of the link that is under way signs nobody in without a look at the password.
  @Test(arguments: [("alice", "wrong"), ("bob", "wrong"), ("bob", "bob-password")])
  func aPasswordIsCheckedWhileTheLinkIsRenewed(_ name: String, _ password: String) throws {
    let host = try LinkedHost(Configured.linking(corp: "login_url = http://127.0.0.1/login"))
    let alice = #"{"op":"login","username":"alice","password":"alice-password"}"#
    expect(try host.ask(alice).state, equals: "signedIn")
    try host.link()
    host.fixture.advance(by: .seconds(3600))
    host.provider.delay = .seconds(2)
    let client = host.fixture.connect()
    client.sendOnly(#"{"refresh":true,"wait":60}"#)
    host.fixture.advance(by: .milliseconds(500))
    expect(host.renewals.count, equals: 1)
    let login = host.fixture.connect()
    login.sendOnly(#"{"op":"login","username":"\#(name)","password":"\#(password)"}"#)
    host.fixture.advance(by: .seconds(20))
    let reply = try login.next()
    let isRight = password != "wrong"
    expect(reply.state, equals: (isRight ? "signedIn" : nil), "\(reply)")
    expect(reply.errorCode, equals: (isRight ? nil : "SignInFailed"))
    let identity = try host.ask(#"{"op":"identity"}"#)
    expect(identity["Username"]?.text, equals: (isRight ? "bob" : "alice"))
    expect(identity["Subject"]?.text, equals: (isRight ? nil : "s-alice"))
    host.fixture.advance(by: .seconds(10))
    expect(host.provider.live, equals: (isRight ? [] : ["refresh-2"]))
  }

  // MARK: Stores and reloads

  @Test func aLinkOutlivesARestart() throws {
    let host = try LinkedHost()
    try host.link()
    try host.fixture.restart(Configured.linking())
    expect(try host.ask(#"{"op":"identity"}"#)["Subject"]?.text, equals: "s-alice")
    host.fixture.advance(by: .seconds(3600))
    expect(try host.ask(#"{"refresh":true,"wait":60}"#).accessKeyID != nil)
    expect(host.linked.last??.hasPrefix("ey") == true)
    expect(host.renewals, equals: ["refresh-1"])
  }

  @Test func anotherClientGetsNothingOfTheLink() throws {
    for isRestarted in [false, true] {
      let host = try LinkedHost()
      try host.link()
      let text = Configured.linking().replacing("client_id = client-1", with: "client_id = other")
      if isRestarted {
        try host.fixture.restart(text)
      } else {
        try host.fixture.reload(text)
      }
      expect(try host.ask(#"{"op":"identity"}"#)["Subject"] == nil)
      host.fixture.advance(by: .seconds(3600))
      expect(try host.ask(#"{"refresh":true,"wait":60}"#).accessKeyID != nil)
      expect(host.linked.last, equals: .some(nil))
      expect(host.renewals.isEmpty)
      // A restart does not know whose secret would revoke it.
      expect(host.provider.live.isEmpty, equals: !isRestarted)
    }
  }

  /// A restart finds a link that the configuration has dropped, and revokes it where the provider is
  /// still configured.
  @Test(arguments: ["link_backend = okta", "url = http://127.0.0.1/token", "[profile default]"])
  func aLinkThatARestartDropsIsRevoked(_ line: String) throws {
    let host = try LinkedHost()
    try host.link()
    let changed = [
      "link_backend = okta": "", "[profile default]": "[profile other]",
      "url = http://127.0.0.1/token": "url = http://127.0.0.1/t",
    ]
    try host.fixture.restart(
      Configured.linking().replacing(line, with: try #require(changed[line])))
    host.fixture.advance(by: .seconds(1))
    expect(host.provider.live.isEmpty)
    expect(host.provider.operations.count { $0 == "revoke" }, equals: 1)
  }

  // MARK: Ends of a link

  private enum End: CaseIterable {
    case noLink, otherBackend, otherPool, removed, otherOwner, otherUser, clear, anotherLink
  }

  /// Whatever ends a link, its refresh token ends at the provider that gave it.
  @Test(arguments: End.allCases) private func aLinkThatEndsIsRevoked(_ end: End) throws {
    let corp = "login_url = http://127.0.0.1/login"
    let text = Configured.linking(corp: corp)
    let host = try LinkedHost(text)
    let alice = #"{"op":"login","username":"alice","password":"alice-password"}"#
    expect(try host.ask(alice).state, equals: "signedIn")
    try host.link()
    expect(host.provider.live, equals: ["refresh-1"])
    switch end {
    case .noLink: try host.fixture.reload(text.replacing("link_backend = okta", with: ""))
    case .otherBackend:
      try host.fixture.reload(text.replacing("http://127.0.0.1/token", with: "http://127.0.0.1/t"))
    case .otherPool:
      try host.fixture.reload(
        text.replacing(FakeUpstreams.pool, with: FakeUpstreams.pool.dropLast() + "0"))
    case .removed:
      try host.fixture.reload(text.replacing("[profile default]", with: "[profile other]"))
    case .otherOwner:
      host.fixture.host.queries.users[1000] = UserEntry(uid: 1000, name: "carol")
      host.fixture.advance(by: UserDirectory.keptFor + .seconds(1))
      expect(try host.ask(#"{"wait":0}"#).errorCode, equals: "SignInRequired")
    case .otherUser:
      let bob = #"{"op":"login","username":"bob","password":"bob-password"}"#
      expect(try host.ask(bob).state, equals: "signedIn")
    case .clear: _ = try host.ask(#"{"op":"clear","what":"identity"}"#)
    case .anotherLink:
      host.provider.user = "bob"
      try host.link()
    }
    host.fixture.advance(by: .seconds(1))
    expect(host.provider.live, equals: (end == .anotherLink ? ["refresh-2"] : []))
    expect(host.provider.operations.count { $0 == "revoke" }, equals: 1)
  }

  @Test func aLogoutEndsTheLinkThereToo() throws {
    let host = try LinkedHost()
    try host.link()
    let reply = try host.ask(#"{"op":"logout"}"#)
    expect(reply["LogoutUrl"]?.text, equals: "https://login.example.com/logout?client_id=client-1")
    host.fixture.advance(by: .seconds(1))
    expect(host.provider.live.isEmpty)
    expect(try host.ask(#"{"op":"identity"}"#)["Subject"] == nil)
  }
}
