import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Tokens of a linked sign-in (`vend_tokens` beside `link_backend`), in virtual time.
struct LinkTokenTests {
  private static let vending = "vend_tokens = id access"
  private static let id = #"{"op":"token","kind":"id"}"#

  private func host(_ profile: String = vending, corp: String = "") throws -> LinkedHost {
    try LinkedHost(Configured.linking(corp: corp, profile: profile))
  }

  /// Which token it is, by its number at the provider.
  private func number(_ reply: Reply) -> Int? {
    reply["Token"]?.text.flatMap(FakeProvider.number)
  }

  // MARK: Which token

  @Test func eachKindIsGivenByItsWordAlone() throws {
    let host = try host()
    try host.link()
    let developer = try host.ask(#"{"op":"token"}"#)
    expect(developer["Token"] != nil)
    expect(try host.ask(#"{"op":"token","kind":"developer"}"#)["Token"], equals: developer["Token"])
    let id = try host.ask(Self.id)
    expect(number(id) == 1 && id["Token"] != developer["Token"], "\(id)")
    expect(id["IdentityId"] == developer["IdentityId"] && id["Expiration"] != nil)
    let access = try host.ask(#"{"op":"token","kind":"access"}"#)
    expect(access["Token"]?.text, equals: "access-1", "\(access)")
    expect(host.renewals.isEmpty)
  }

  @Test(arguments: [("", "id"), ("", "access"), ("vend_tokens = id", "access")])
  func whatTheProfileDoesNotNameIsDenied(_ profile: String, _ kind: String) throws {
    let host = try host(profile)
    try host.link()
    let reply = try host.ask(#"{"op":"token","kind":"\#(kind)"}"#)
    expect(reply.errorCode, equals: "AccessDenied", "\(reply)")
    expect(reply.errorMessage?.contains("vend_tokens") == true)
    expect(try host.ask(#"{"op":"token"}"#)["Token"] != nil)
  }

  @Test func anAccessTokenIsKeptOnlyWhereItIsNamed() throws {
    for (words, isKept) in [("id", false), ("id access", true)] {
      let host = try host("vend_tokens = \(words)")
      try host.link()
      let session = host.fixture.service.sessions[SessionKey(uid: 1000, profile: "default")]
      expect((session?.machine.link?.accessToken != nil), equals: isKept)
      host.fixture.advance(by: .seconds(3600))
      expect(try host.ask(Self.id)["Token"] != nil)
      expect((session?.machine.link?.accessToken != nil), equals: isKept)
    }
  }

  @Test(arguments: ["link", "own"])
  func aReloadThatWithdrawsTheWordDropsTheToken(_ what: String) throws {
    let text = { (words: String) in
      what == "own"
        ? Configured.provider(profile: "vend_tokens = \(words)")
        : Configured.linking(profile: "vend_tokens = \(words)")
    }
    let host = try LinkedHost(text("id access"))
    if what == "own" { _ = try host.signIn() } else { try host.link() }
    let session = host.fixture.service.sessions[SessionKey(uid: 1000, profile: "default")]
    let held = { session?.machine.vendedSession?.accessToken }
    expect(held() != nil)
    try host.fixture.reload(text("id"))
    expect(held() == nil)
    expect(session?.machine.vendedSession?.idToken != nil)
  }

  /// A refresh of the credentials brings no link.
  @Test func aMissingLinkIsNamedWhateverIsUnderWay() throws {
    let host = try host()
    host.refusals = [.silence]
    let client = host.fixture.connect()
    client.send("{}")
    expect(client.hasReadAll)
    let reply = try host.ask(#"{"op":"token","kind":"id","wait":0}"#)
    expect(reply.errorCode, equals: "SignInRequired", "\(reply)")
    expect(reply.errorMessage?.contains("is linked to this session") == true)
  }

  // MARK: Renewal

  @Test func aTokenIsRenewedWithoutACallback() throws {
    let host = try host()
    try host.link()
    host.fixture.advance(by: .seconds(3600))
    let callbacks = host.linked.count
    expect(number(try host.ask(Self.id)), equals: 2)
    expect(host.renewals, equals: ["refresh-1"])
    expect(host.linked.count, equals: callbacks)
    // A callback takes the same one.
    expect(try host.ask(#"{"refresh":true,"wait":60}"#).accessKeyID != nil)
    expect(host.linked.last??.hasPrefix("ey") == true)
    expect(host.renewals.count, equals: 1)
  }

  @Test func manyWaitersShareOneRenewalOfTheLink() throws {
    let host = try host()
    try host.link()
    host.fixture.advance(by: .seconds(3600))
    host.provider.delay = .seconds(1)
    let clients = (0..<20).map { _ in host.fixture.connect() }
    for (number, client) in clients.enumerated() {
      let kind = number % 2 == 0 ? "id" : "access"
      client.sendOnly(#"{"op":"token","kind":"\#(kind)","wait":10}"#)
    }
    host.fixture.advance(by: .seconds(2))
    for client in clients { expect(try client.next()["Token"] != nil) }
    expect(host.renewals, equals: ["refresh-1"])
  }

  @Test func aLoopUsesUpNoRefreshTokenOfTheLink() throws {
    let host = try host()
    try host.link()
    host.fixture.advance(by: .seconds(60))
    var given = 0
    for _ in 0..<50 {
      let reply = try host.ask(#"{"op":"token","kind":"id","refresh":true,"wait":1}"#)
      if reply["Token"] != nil { given += 1 }
    }
    expect(given > 0)
    expect(host.renewals.count <= 2, "\(host.renewals)")
    expect(host.provider.misuses, equals: 0)
  }

  /// Where the provider does not say how long a token lasts, too.
  @Test func aLoopForATokenOfUnknownLifetimeUsesUpNoneEither() throws {
    let host = try host()
    host.provider.tellsLifetime = false
    try host.link()
    for _ in 0..<50 {
      expect(try host.ask(#"{"op":"token","kind":"access"}"#)["Token"] != nil)
      host.fixture.advance(by: .seconds(1))
    }
    expect((1...2).contains(host.renewals.count), "\(host.renewals)")
  }

  @Test func aClearMeanwhileStartsNoSecondRenewal() throws {
    let host = try host()
    try host.link()
    host.fixture.advance(by: .seconds(3600))
    host.provider.delay = .seconds(2)
    let client = host.fixture.connect()
    client.sendOnly(#"{"op":"token","kind":"id","wait":10}"#)
    host.fixture.advance(by: .milliseconds(500))
    _ = try host.ask(#"{"op":"clear","what":"credentials"}"#)
    host.fixture.advance(by: .seconds(5))
    expect(number(try client.next()), equals: 2)
    expect(host.renewals, equals: ["refresh-1"])
  }

  @Test func anEndedTokenIsHeldNoLonger() throws {
    let host = try host()
    try host.link()
    let session = host.fixture.service.sessions[SessionKey(uid: 1000, profile: "default")]
    expect(session?.machine.link?.accessToken != nil)
    host.fixture.advance(by: .seconds(3600))
    expect(session?.machine.link?.accessToken == nil)
    expect(session?.machine.link?.refreshToken.isEmpty == false)
  }

  // MARK: Waiting for a link

  @Test func withoutALinkTheErrorSaysSo() throws {
    let host = try host()
    for state in ["signedOut", "signedIn"] {
      expect(try host.ask(#"{"op":"identity"}"#).state, equals: state)
      let reply = try host.ask(#"{"op":"token","kind":"id","wait":0}"#)
      expect(reply.errorCode, equals: "SignInRequired", "\(reply)")
      expect(
        reply.errorMessage,
        equals: #"no account at "login.example.com" is linked to this session: sign in there"#)
      expect(try host.ask().accessKeyID != nil)
    }
  }

  @Test func aWaiterGetsTheTokenOfALinkThatComes() throws {
    let host = try host()
    _ = try host.ask()
    let client = host.fixture.connect()
    client.sendOnly(#"{"op":"token","kind":"id","wait":60}"#)
    host.fixture.advance(by: .seconds(5))
    try host.link()
    expect(number(try client.next()), equals: 1)
    expect(host.renewals.isEmpty)
  }

  @Test func aReleaseEndsTheWaitForALink() throws {
    let host = try host()
    _ = try host.ask()
    let client = host.fixture.connect()
    client.sendOnly(#"{"op":"token","kind":"id","wait":60}"#)
    _ = try host.ask(#"{"op":"release"}"#)
    expect(try client.next().errorMessage?.contains("is linked") == true)
  }

  /// A program that waits for a link must not have the backend asked again and again.
  @Test func credentialsAreRenewedWhileAProgramWaitsForALink() throws {
    let host = try host()
    _ = try host.ask()
    let client = host.fixture.connect()
    client.sendOnly(#"{"op":"token","kind":"id","wait":300}"#)
    let callbacks = host.linked.count
    host.fixture.advance(by: .seconds(2))
    expect(try host.ask(#"{"refresh":true,"wait":60}"#).accessKeyID != nil)
    host.fixture.advance(by: .seconds(200))
    expect(host.linked.count, equals: callbacks + 1)
  }

  @Test func aLinkThatTheBackendRefusesGivesNoToken() throws {
    let host = try host()
    _ = try host.ask()
    let refusal = FakeHTTP.Answer.reply(409, #"{"message":"another user has this login"}"#)
    host.refusals = [refusal, refusal, refusal]
    let client = host.fixture.connect()
    client.sendOnly(#"{"op":"token","kind":"id","wait":20}"#)
    let asked = try host.signIn()
    expect(try host.ask(asked.response("confirm", "true")).errorCode != nil)
    host.fixture.advance(by: .seconds(30))
    expect(try client.next().errorCode, equals: "SignInRequired")
  }

  @Test func aLinkWithoutARefreshTokenEndsWithItsToken() throws {
    let host = try host()
    host.provider.givesRefreshTokens = false
    try host.link()
    expect(number(try host.ask(Self.id)), equals: 1)
    host.fixture.advance(by: .seconds(3600))
    // The credentials are due, and are renewed meanwhile.
    let reply = try host.ask(#"{"op":"token","kind":"id","wait":1}"#)
    expect(reply.errorCode, equals: "SignInRequired")
    expect(reply.errorMessage?.contains("has run out") == true, "\(reply)")
    expect(try host.ask().accessKeyID != nil)
  }

  // MARK: Failures

  @Test func aLinkedProviderThatIsAwaySignsNobodyOut() throws {
    let host = try host()
    try host.link()
    host.fixture.advance(by: .seconds(3600))
    host.provider.faults["token"] = Array(repeating: .failure(.connect), count: 20)
    let reply = try host.ask(#"{"op":"token","kind":"id","wait":3}"#)
    expect(reply.errorCode, equals: "BackendUnavailable", "\(reply)")
    expect(try host.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
    expect(try host.fixture.status()?["LastError"] == nil)
    // The credentials do not wait for the provider.
    expect(try host.ask(#"{"refresh":true,"wait":2}"#).accessKeyID != nil)
    // Programs that ask all the time do not make it worse.
    let count = host.provider.operations.count
    for _ in 0..<50 { _ = try host.ask(#"{"op":"token","kind":"id","wait":0}"#) }
    expect(host.provider.operations.count <= count + 2)
    host.provider.faults = [:]
    host.fixture.advance(by: .seconds(600))
    expect(number(try host.ask(Self.id)), equals: 2)
  }

  @Test func aBackendThatIsAwayHoldsUpNoTokenOfTheLink() throws {
    let host = try host()
    try host.link()
    host.fixture.advance(by: .seconds(3600))
    host.refusals = Array(repeating: .reply(503, "{}"), count: 50)
    _ = try host.ask(#"{"refresh":true,"wait":2}"#)
    host.provider.delay = .zero
    let reply = try host.ask(#"{"op":"token","kind":"id","refresh":true,"wait":40}"#)
    expect(reply["Token"] != nil, "\(reply)")
    expect(try host.fixture.status()?["LastError"] != nil)
  }

  /// Somebody waits for the backend beside. Its pause is its own, and each gets what is theirs.
  @Test func whoWaitsForTheLinkEndsNoPauseOfTheBackend() throws {
    let host = try host()
    try host.link()
    host.fixture.advance(by: .seconds(60))
    let before = host.linked.count
    host.refusals = Array(repeating: .reply(503, ""), count: 4)
    let (one, other) = (host.fixture.connect(), host.fixture.connect())
    one.sendOnly(#"{"refresh":true,"wait":30}"#)
    other.sendOnly(#"{"op":"token","kind":"id","refresh":true,"wait":30}"#)
    host.fixture.advance(by: .milliseconds(500))
    expect(host.linked.count, equals: before + 1)
    expect(number(try other.next()), equals: 2)
    expect(one.hasReadAll)
    host.fixture.advance(by: .seconds(30))
    expect(!one.hasReadAll)
  }

  @Test func aSignInThatEndedAtTheProviderEndsTheLinkAlone() throws {
    let host = try host()
    try host.link()
    host.fixture.advance(by: .seconds(3600))
    host.provider.faults["token"] = [FakeProvider.error("invalid_grant")]
    expect(
      try host.ask(#"{"op":"token","kind":"id","wait":1}"#).errorCode, equals: "SignInRequired")
    expect(try host.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
    expect(try host.ask().accessKeyID != nil)
  }

  @Test func aUserWhomTheBackendRefusesGetsNoTokenOfTheLink() throws {
    let host = try host(corp: "login_url = http://127.0.0.1/login")
    let alice = #"{"op":"login","username":"alice","password":"alice-password"}"#
    expect(try host.ask(alice).state, equals: "signedIn")
    try host.link()
    expect(number(try host.ask(Self.id)), equals: 1)
    host.refusals = [.reply(401, "{}")]
    host.fixture.advance(by: .seconds(2))
    _ = try host.ask(#"{"refresh":true,"wait":2}"#)
    expect(try host.ask(#"{"op":"identity"}"#).state, equals: "tokensInvalid")
    expect(
      try host.ask(#"{"op":"token","kind":"id","wait":0}"#).errorCode, equals: "SignInRequired")
  }

  /// Where the host's word is enough, the user comes back without a sign-in.
  @Test func aTokenOfTheLinkComesBackWithTheUser() throws {
    let host = try host()
    try host.link()
    host.refusals = [.reply(401, "{}")]
    host.fixture.advance(by: .seconds(2))
    _ = try host.ask(#"{"refresh":true,"wait":2}"#)
    expect(try host.ask(#"{"op":"identity"}"#).state, equals: "tokensInvalid")
    host.fixture.advance(by: .seconds(10))
    expect(number(try host.ask(Self.id)), equals: 1)
    expect(try host.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
  }

  // MARK: Stores and reloads

  @Test func tokensOfALinkOutliveARestart() throws {
    let host = try host()
    try host.link()
    try host.fixture.restart(Configured.linking(profile: Self.vending))
    expect(number(try host.ask(Self.id)), equals: 1)
    expect(
      try host.ask(#"{"op":"token","kind":"access"}"#)["Token"]?.text, equals: "access-1")
    expect(host.renewals.isEmpty)
  }

  @Test func aReloadThatWithdrawsAWordEndsTheWaitForIt() throws {
    let host = try host()
    try host.link()
    host.fixture.advance(by: .seconds(3600))
    host.provider.delay = .seconds(2)
    let client = host.fixture.connect()
    client.sendOnly(#"{"op":"token","kind":"access","wait":60}"#)
    host.fixture.advance(by: .milliseconds(500))
    try host.fixture.reload(Configured.linking(profile: "vend_tokens = id"))
    host.fixture.advance(by: .seconds(60))
    expect(try client.next().errorCode, equals: "AccessDenied")
    expect(host.renewals, equals: ["refresh-1"])
  }
}
