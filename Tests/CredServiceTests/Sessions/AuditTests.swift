import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// The audit's entries, by their message ids.
struct AuditTests {
  private func entries(_ fixture: ServiceFixture, _ event: JournalEvent) -> [LogBook.Entry] {
    fixture.host.log.entries.filter { $0["message_id"] == event.rawValue }
  }

  @Test func `each kind of event has its own id, and says who`() throws {
    let fixture = try ServiceFixture(
      Configured.password(profile: "impersonate = root\nimpersonate_signed_in = yes"))
    let client = fixture.connect(pid: 70)
    client.systemdUnit = "billing.service"
    _ = try client.ask(#"{"op":"login","username":"alice","password":"no"}"#)
    _ = try client.ask(#"{"op":"login","username":"alice","password":"alice-password"}"#)
    let key = try #require(try client.ask("{}").accessKeyID)
    expect(try fixture.ask(#"{"user":"alice"}"#, uid: 0).accessKeyID, equals: key)
    expect(try fixture.ask(#"{"user":"alice"}"#, uid: 1001).errorCode, equals: "AccessDenied")
    fixture.host.upstreams.replaceIdentity(of: "alice")
    _ = try client.ask(#"{"op":"clear","what":"credentials"}"#)
    _ = try client.ask(#"{"refresh":true}"#)
    _ = try client.ask(#"{"op":"logout"}"#)
    for event in [
      JournalEvent.signInRefused, .signedIn, .credentialsRefreshed, .credentialsGiven,
      .impersonated, .accessRefused, .signedOut,
    ] {
      let found = entries(fixture, event)
      expect(!found.isEmpty, "\(event)")
      expect(found.allSatisfy { $0["profile"] == "default" && $0["uid"] != nil })
    }
    for event in [JournalEvent.signInRefused, .signedIn, .signedOut] {
      let entry = try #require(entries(fixture, event).first)
      expect(entry["pid"] == "70" && entry["unit"] == "billing.service", "\(event)")
      expect(entry["uid"] == "1000" && entry["means"] == "password", "\(event)")
    }
    let given = try #require(entries(fixture, .impersonated).first)
    expect(given["uid"] == "0" && given["for_uid"] == "1000")
    expect(given["user"] == "root" && given["for_user"] == "alice")
    expect(given["access_key_id"], equals: key)
    expect(entries(fixture, .accessRefused).first?["for_user"], equals: "alice")
    expect(entries(fixture, .credentialsRefreshed).first?["access_key_id"], equals: key)
    expect(entries(fixture, .credentialsGiven).allSatisfy { $0["uid"] == "1000" })
  }

  /// A service of alice's that root has started may have asked as root before.
  @Test func `a process that acts for the user that it was is recorded`() throws {
    let fixture = try ServiceFixture(Configured.usual(profile: "impersonate = root"))
    let own = fixture.connect(pid: 70)
    _ = try own.ask("{}")
    let other = fixture.connect(uid: 0, pid: 70)
    for _ in 0..<2 { expect(try other.ask(#"{"user":"alice"}"#).accessKeyID != nil) }
    let found = entries(fixture, .impersonated)
    expect(found.count == 1 && found.first?["pid"] == "70", "\(found)")
    expect(found.first?["user"] == "root" && found.first?["for_user"] == "alice", "\(found)")
  }

  @Test func `who may not act for a user that signed in is named with its name`() throws {
    let fixture = try ServiceFixture(Configured.password(profile: "impersonate = root"))
    _ = try fixture.ask(#"{"op":"login","username":"alice","password":"alice-password"}"#)
    expect(try fixture.ask(#"{"user":"alice"}"#, uid: 0).errorCode, equals: "AccessDenied")
    let refused = try #require(entries(fixture, .accessRefused).first)
    expect(refused["uid"] == "0" && refused["user"] == "root", "\(refused)")
  }

  @Test func `an account that was asked for is recorded, with who asked and as whom`() throws {
    let fixture = try ServiceFixture(
      Configured.password(backend: "register_url = http://127.0.0.1/register"))
    let line = #"{"op":"account","action":"sign-up","username":"carol","password":"hush-hush"}"#
    fixture.host.upstreams.faults["register"] = .status(
      409, #"{"message":"hush-hush is taken"}"#, count: 1)
    for _ in 0..<2 {
      let client = fixture.connect(pid: 70)
      client.systemdUnit = "billing.service"
      client.send(line)
      // Who leaves before the answer asked all the same.
      client.leave()
      fixture.advance(by: .seconds(1))
    }
    let found = entries(fixture, .accountAction)
    expect(found.map { $0["code"] }, equals: ["AccountRefused", nil])
    for entry in found {
      expect(entry["profile"] == "default" && entry["uid"] == "1000" && entry["user"] == "alice")
      expect(entry["pid"] == "70" && entry["unit"] == "billing.service")
      expect(entry["action"] == "sign-up" && entry["username"] == "carol")
    }
    expect(!fixture.host.log.entries.contains { "\($0)".contains("hush") })
  }

  @Test func `a sign-in at a provider says by which means`() throws {
    for (text, link) in [(Configured.provider(), false), (Configured.linking(), true)] {
      let fixture = try ServiceFixture(text)
      let provider = FakeProvider(fixture)
      let asked = try fixture.ask(
        #"{"op":"login","browser":{"redirect_uri":"http://127.0.0.1:4711/okta"}}"#)
      // What was not read as an answer is no sign-in.
      let stray = asked.response("response", "\"code=code-1&state=other\"")
      expect(try fixture.ask(stray).errorCode, equals: "InvalidRequest")
      expect(entries(fixture, .signInRefused).isEmpty)
      expect(
        try fixture.ask(#"{"op":"metrics"}"#, uid: 0).text.contains("result=\\\"InvalidRequest")
          == false)
      var reply = try fixture.ask(
        asked.response("response", "\"\(provider.browse(asked))\""))
      if link { reply = try fixture.ask(reply.response("confirm", "true")) }
      expect(reply.state, equals: "signedIn", "\(reply)")
      expect(entries(fixture, .signedIn).map { $0["means"] }, equals: ["browser"])
    }
    let fixture = try ServiceFixture(Configured.provider())
    let provider = FakeProvider(fixture)
    let wrong = try fixture.ask(
      #"{"op":"login","browser":{"redirect_uri":"http://127.0.0.1:4711/okta"}}"#)
    _ = try fixture.ask(
      wrong.response("response", "\"\(provider.browse(wrong, code: "wrong"))\""))
    expect(entries(fixture, .signInRefused).map { $0["means"] }, equals: ["browser"])
    let typed = try fixture.ask(#"{"op":"login","device":true}"#)
    expect(try fixture.ask(typed.waiting(60)).state, equals: "signedIn")
    expect(entries(fixture, .signedIn).map { $0["means"] }, equals: ["device"])
  }

  @Test func `what was brought is named, and not shown`() throws {
    let fixture = try ServiceFixture()
    _ = try fixture.ask(#"{"op":"login","logins":{"accounts.google.com":"hush-google"}}"#)
    let entry = try #require(entries(fixture, .signedIn).first { $0["means"] == "logins" })
    expect(entry["providers"], equals: "accounts.google.com")
    expect(!fixture.host.log.entries.contains { "\($0)".contains("hush") })
  }

  @Test func `a sign-in that could not be judged is no refusal`() throws {
    let fixture = try ServiceFixture(Configured.password())
    fixture.host.upstreams.faults["login"] = .status(503)
    _ = try fixture.ask(#"{"op":"login","username":"alice","password":"alice-password"}"#)
    expect(entries(fixture, .signInRefused).isEmpty && entries(fixture, .signedIn).isEmpty)
  }

  @Test func `guesses that are not even tried are in the audit, and do not fill it`() throws {
    let fixture = try ServiceFixture(Configured.password())
    for _ in 0..<100 {
      _ = try fixture.ask(#"{"op":"login","username":"alice","password":"no"}"#)
    }
    expect((5...60).contains(entries(fixture, .signInRefused).count))
    expect(entries(fixture, .signInRefused).contains { $0["code"] == "TooManyRequests" })
  }

  // MARK: Nobody waits for the end

  /// Those that say who asked, and not only that the session is signed in.
  private func signIns(_ fixture: ServiceFixture, _ event: JournalEvent) -> [LogBook.Entry] {
    entries(fixture, event).filter { !$0.message.hasPrefix("session is now") }
  }

  /// The program may have ended by then.
  @Test(arguments: [true, false])
  func aLoginWhoseClientLeavesIsRecorded(_ isRight: Bool) throws {
    let fixture = try ServiceFixture(Configured.password())
    fixture.host.upstreams.delays["login"] = .milliseconds(500)
    let client = fixture.connect(pid: 70)
    client.systemdUnit = "billing.service"
    let password = isRight ? "alice-password" : "no"
    client.send(#"{"op":"login","username":"alice","password":"\#(password)"}"#)
    client.leave()
    expect(signIns(fixture, .signedIn).isEmpty && signIns(fixture, .signInRefused).isEmpty)
    fixture.advance(by: .seconds(1))
    let found = signIns(fixture, isRight ? .signedIn : .signInRefused)
    expect(found.count == 1 && signIns(fixture, isRight ? .signInRefused : .signedIn).isEmpty)
    let entry = try #require(found.first)
    expect(entry["means"] == "password" && entry["username"] == "alice")
    expect(entry["uid"] == "1000" && entry["pid"] == "70" && entry["unit"] == "billing.service")
    expect((entry["identity"] != nil), equals: isRight)
    expect(entry["code"], equals: (isRight ? nil : "SignInFailed"))
    expect(fixture.service.sessions.values.allSatisfy { $0.asking.signIns.isEmpty })
  }

  /// Its client has been told that it takes too long, and asks something else meanwhile.
  @Test func aLoginThatSucceedsAfterItsTimeIsRecorded() throws {
    let text = Configured.password().replacing("timeout = 2s", with: "timeout = 40s")
    let fixture = try ServiceFixture(text)
    fixture.host.upstreams.delays["login"] = .seconds(32)
    let client = fixture.connect(pid: 70)
    client.send(#"{"op":"login","username":"alice","password":"alice-password"}"#)
    fixture.advance(by: .seconds(30))
    expect(try client.next().errorCode, equals: "Timeout")
    client.send(#"{"op":"get","wait":60}"#)
    expect(client.isWaiting && signIns(fixture, .signedIn).isEmpty)
    fixture.advance(by: .seconds(5))
    expect(try client.next().accessKeyID != nil)
    let entry = try #require(signIns(fixture, .signedIn).first)
    expect(entry["pid"] == "70" && entry["username"] == "alice" && entry["means"] == "password")
    expect(signIns(fixture, .signInRefused).isEmpty && signIns(fixture, .signedIn).count == 1)
  }

  /// It counts as a wrong password: who guesses could leave before each answer.
  @Test func aSignInAtAPoolWhoseClientLeavesIsRecordedAsRefused() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    pool.delays["InitiateAuth"] = .seconds(1)
    let client = fixture.connect(pid: 70)
    client.send(#"{"op":"login","username":"alice","password":"pass-word"}"#)
    client.leave()
    fixture.advance(by: .seconds(5))
    let entry = try #require(signIns(fixture, .signInRefused).first)
    expect(entry["means"] == "userPool" && entry["code"] == "SignInFailed")
    expect(entry["username"] == "alice" && entry["uid"] == "1000")
    expect(signIns(fixture, .signedIn).isEmpty)
  }

  /// A wrong id of the pool makes each password wrong, and only the administrator can correct it.
  @Test func aRefusedPasswordAtAPoolMayBeTheIdsFault() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    let wrong = FakePool.refusal("NotAuthorizedException", "Incorrect username or password.")
    pool.faults = ["InitiateAuth": [wrong], "RespondToAuthChallenge": [wrong]]
    let reply = try fixture.ask(#"{"op":"login","username":"alice","password":"no"}"#)
    expect(reply.errorCode, equals: "SignInFailed")
    expect(reply.errorMessage?.contains("user_pool_id") == false)
    let reason = try #require(signIns(fixture, .signInRefused).first?["reason"])
    expect(
      reason.hasSuffix("check user name and password (NotAuthorizedException), or user_pool_id"),
      "\(reason)")
  }

  /// Only the backend's answer says whether the user is linked.
  @Test(arguments: [true, false])
  func aLinkByDeviceCodeThatNobodyWaitsForIsRecorded(_ isRefused: Bool) throws {
    let host = try LinkedHost()
    try host.link()
    let former = signIns(host.fixture, .signedIn).count
    if isRefused { host.refusals = [.reply(403, #"{"message":"not this one"}"#)] }
    let asked = try host.ask(FakeProvider.device)
    let client = host.fixture.connect()
    client.sendOnly(asked.waiting(300))
    client.leave()
    host.fixture.advance(by: .seconds(30))
    let new = signIns(host.fixture, .signedIn).dropFirst(former)
    expect(new.count == (isRefused ? 0 : 1) && new.allSatisfy { $0["means"] == "device" })
    let refused = signIns(host.fixture, .signInRefused)
    expect(refused.map { $0["means"] }, equals: (isRefused ? ["device"] : []))
    for entry in Array(new) + refused {
      expect(entry["username"] == "alice" && entry["uid"] == "1000" && entry["pid"] == "42")
    }
  }
}
