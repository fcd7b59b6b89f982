import CredCore
import Logging
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// What one user may cause.
struct UserLimitTests {
  private static let login = #"{"op":"login","username":"alice","password":"alice-password"}"#

  @Test func `a user that signs in again and again is slowed down`() throws {
    let fixture = try ServiceFixture()
    var refused: Reply?
    for _ in 0..<200 where refused == nil {
      let reply = try fixture.ask(#"{"op":"login"}"#)
      if reply.errorCode != nil { refused = reply }
    }
    expect(refused?.errorCode, equals: "TooManyRequests")
    expect(refused?.errorMessage?.contains("upstream calls") == true)
    expect((refused?["Error"]?["RetryAfter"]?.double ?? 0) > 0)
    // An ordinary request is answered, and another user is not slowed down.
    expect(try fixture.ask().accessKeyID != nil)
    expect(try fixture.ask(#"{"op":"login"}"#, uid: 1001).errorCode == nil)
    // Two calls a second come back.
    fixture.advance(by: .seconds(2))
    expect(try fixture.ask(#"{"op":"login"}"#).errorCode == nil)
  }

  @Test func whoHitsALimitIsNamedOnceAMinute() throws {
    let fixture = try ServiceFixture()
    let entries = { fixture.host.log.entries.filter { $0.message.hasPrefix("a limit was hit") } }
    let ask = {
      try fixture.connect(pid: 77).ask(#"{"op":"clear","what":"credentials"}"#).errorCode
    }
    for _ in 0..<60 { _ = try fixture.ask(#"{"op":"login"}"#) }
    for _ in 0..<3 { expect(try ask(), equals: "TooManyRequests") }
    expect(entries().count, equals: 1)
    expect(entries().first?.level == .notice)
    expect(entries().first?["pid"] == "77" && entries().first?["uid"] == "1000")
    // A sign-in that is refused has an entry of its own.
    expect(try fixture.ask(#"{"op":"login"}"#).errorCode, equals: "TooManyRequests")
    expect(entries().count, equals: 1)
  }

  /// A daemon that ends by itself must not take the counts along.
  @Test func guessesCountForAnHour() throws {
    let fixture = try ServiceFixture(Configured.password())
    expect(try fixture.ask(Self.login).state, equals: "signedIn")
    expect(fixture.service.countsUntil == nil)
    let wrong = Self.login.replacing("alice-password", with: "wrong")
    expect(try fixture.ask(wrong).errorCode, equals: "SignInFailed")
    let end = fixture.now + .seconds(3600)
    expect(fixture.service.countsUntil, equals: end)
    // The count of all names is not ended by a right password.
    expect(try fixture.ask(Self.login).state, equals: "signedIn")
    expect(fixture.service.countsUntil, equals: end)
  }

  @Test func codesAndMessagesCountForAnHour() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool(
      Configured.userPool(backend: "account_actions = confirm"))
    pool.faults["ConfirmSignUp"] = [FakePool.refusal("CodeMismatchException", "Invalid code")]
    expect(fixture.service.countsUntil == nil)
    let line = #"{"op":"account","action":"confirm","username":"bob","code":"1"}"#
    expect(try fixture.ask(line).errorCode, equals: "AccountRefused")
    expect(fixture.service.countsUntil, equals: fixture.now + .seconds(3600))
  }

  /// A user names the units of the own manager.
  @Test func unitsOfAUsersOwnManagerAreNamedTogether() throws {
    let fixture = try ServiceFixture()
    for _ in 0..<60 { _ = try fixture.ask(#"{"op":"login"}"#) }
    for number in 0..<5 {
      let client = fixture.connect()
      client.systemdUnit = "user@1000.service/x\(number).scope"
      let refused = try client.ask(#"{"op":"clear","what":"credentials"}"#)
      expect(refused.errorCode, equals: "TooManyRequests")
    }
    let entries = fixture.host.log.entries.filter { $0.message.hasPrefix("a limit was hit") }
    expect(entries.count, equals: 1)
    expect(entries.first?["unit"], equals: "user@1000.service/x0.scope")
  }

  @Test func `requests of one user wait in so many sessions and no more`() throws {
    let limit = Limits.Client.waitingSessions
    let profiles = (0...limit).map { Configured.profile("p\($0)") }.joined()
    let fixture = try ServiceFixture(Configured.http() + profiles)
    fixture.host.upstreams.faults["token"] = .hang
    let waiting = (0..<limit).map { number in
      let client = fixture.connect()
      client.send(#"{"profile":"p\#(number)","wait":60}"#)
      return client
    }
    expect(waiting.allSatisfy { $0.isWaiting })
    let line = #"{"profile":"p\#(limit)","wait":60}"#
    let refused = try fixture.ask(line)
    expect(refused.errorCode, equals: "TooManyRequests")
    expect(refused.errorMessage?.contains("32 other profiles") == true)
    // To join those that wait already costs nothing.
    let joining = fixture.connect()
    joining.send(#"{"profile":"p0","wait":60}"#)
    expect(joining.isWaiting)
    // Another user has places of its own.
    let other = fixture.connect(uid: 1001)
    other.send(line)
    expect(other.isWaiting)
    // A place is free as soon as a client leaves.
    waiting[limit - 1].leave()
    let next = fixture.connect()
    next.send(line)
    expect(next.isWaiting)
    expect(next.client?.user.waitingSessions.count, equals: limit)
  }

  @Test func `places are given back when requests are answered`() throws {
    let fixture = try ServiceFixture()
    let client = fixture.connect()
    fixture.host.upstreams.delays["token"] = .seconds(1)
    for _ in 0..<3 { client.send("{}") }
    expect(client.client?.user.waitingSessions.count, equals: 1)
    fixture.advance(by: .seconds(1))
    expect(client.replies.count, equals: 3)
    expect(client.client?.user.waitingSessions.isEmpty == true)
    expect(fixture.service.clients.users.count, equals: 1)
    client.leave()
    expect(fixture.service.clients.users.isEmpty && fixture.service.clients.count == 0)
  }

  @Test func `one password of a user is checked at a time`() throws {
    let fixture = try ServiceFixture(Configured.password())
    fixture.host.upstreams.delays["login"] = .milliseconds(1500)
    let first = fixture.connect()
    first.send(Self.login)
    let second = fixture.connect()
    second.send(Self.login)
    let refused = try second.next()
    expect(refused.errorCode, equals: "TooManyRequests")
    expect(refused.errorMessage?.contains("another sign-in of yours") == true)
    // Another user's is checked beside it.
    let other = fixture.connect(uid: 1001)
    other.send(Self.login)
    expect(other.isWaiting)
    fixture.advance(by: .milliseconds(1500))
    expect(try first.next().errorCode == nil)
    expect(try fixture.ask(Self.login).errorCode == nil)
    expect(fixture.host.upstreams.calls("login"), equals: 3)
  }

  @Test func `a client that leaves while its password is checked counts as a failure`() throws {
    let fixture = try ServiceFixture(Configured.password())
    fixture.host.upstreams.delays["login"] = .milliseconds(100)
    let wrong = Self.login.replacing("alice-p", with: "no-p")
    var refused: Reply?
    for _ in 0..<20 where refused == nil {
      let client = fixture.connect()
      client.send(wrong)
      refused = client.replies.first
      client.leave()
    }
    expect(refused?.errorMessage, equals: "too many sign-ins failed")
    expect(fixture.service.owners.guesses.underWay.isEmpty)
  }

  @Test func `wrong passwords are slowed down, and a right one ends that`() throws {
    let fixture = try ServiceFixture(Configured.password())
    let wrong = Self.login.replacing("alice-p", with: "no-p")
    var refused: Reply?
    for _ in 0..<20 where refused == nil {
      let reply = try fixture.ask(wrong)
      if reply.errorCode == "TooManyRequests" { refused = reply }
    }
    expect(fixture.host.upstreams.calls("login"), equals: 3)
    let pause = try #require(refused?["Error"]?["RetryAfter"]?.double)
    expect((1...2).contains(pause))
    // Not even the right one is tried.
    expect(try fixture.ask(Self.login).errorCode, equals: "TooManyRequests")
    expect(fixture.host.upstreams.calls("login"), equals: 3)
    fixture.advance(by: .seconds(pause))
    expect(try fixture.ask(wrong).errorCode, equals: "SignInFailed")
    let longer = try #require(try fixture.ask(wrong)["Error"]?["RetryAfter"]?.double)
    expect((3...4).contains(longer))
    expect(fixture.host.upstreams.calls("login"), equals: 4)
    fixture.advance(by: .seconds(longer))
    expect(try fixture.ask(Self.login).state, equals: "signedIn")
    // Forgiven: the next typing error costs nothing.
    expect(try fixture.ask(wrong).errorCode, equals: "SignInFailed")
    expect(try fixture.ask(Self.login).state, equals: "signedIn")
  }

  @Test func `an accepted password of one's own gives no further guesses of another's`() throws {
    let fixture = try ServiceFixture(Configured.password())
    fixture.host.upstreams.passwords["mallory"] = "mine"
    let own = #"{"op":"login","username":"mallory","password":"mine"}"#
    var guesses = 0
    for _ in 0..<20 {
      let guess = try fixture.ask(Self.login.replacing("alice-p", with: "no-p"))
      if guess.errorCode == "TooManyRequests" { break }
      expect(guess.errorCode, equals: "SignInFailed")
      guesses += 1
      expect(try fixture.ask(own).state, equals: "signedIn")
    }
    expect(guesses, equals: 3)
    // Other names of victims are a further few guesses, not a fresh count each.
    for number in 0..<20 {
      let victim = #"{"op":"login","username":"victim\#(number)","password":"x"}"#
      if try fixture.ask(victim).errorCode == "TooManyRequests" { break }
      guesses += 1
    }
    expect(guesses, equals: 10)
    expect(try fixture.ask(own).errorCode, equals: "TooManyRequests")
  }

  @Test(.disabled(if: TestRounds.isShort, "left out by CREDD_TEST_ROUNDS=short"))
  func `logins of one user's sessions are bounded together`() throws {
    // Without a backend they are the sign-in, and sessions keep what they were sent.
    let profiles = (0..<10).map {
      """
      [profile p\($0)]
      identity_pool_id = \(FakeUpstreams.pool)
      cognito_endpoint = http://127.0.0.1:4599

      """
    }
    let fixture = try ServiceFixture(profiles.joined())
    let token = String(repeating: "x", count: 50_000)
    let logins = (0..<10).map { #""login\#($0).example":"\#(token)""# }.joined(separator: ",")
    var refused: Reply?
    var kept = 0
    for number in 0..<10 where refused == nil {
      let reply = try fixture.ask(#"{"op":"login","profile":"p\#(number)","logins":{\#(logins)}}"#)
      if reply.errorCode == "TooManyRequests" { refused = reply } else { kept += 1 }
    }
    expect(refused?.errorMessage?.contains("bytes of logins") == true)
    expect(kept, equals: Limits.Session.loginBytesPerUser / 500_000)
    // A session that already holds logins may replace them, although the user's limit is reached.
    let again = try fixture.ask(#"{"op":"login","profile":"p0","logins":{\#(logins)}}"#)
    expect(again.errorCode == nil, "\(again)")
  }

  @Test(.disabled(if: TestRounds.isShort, "left out by CREDD_TEST_ROUNDS=short"))
  func `logins that wait for their user's word count with them`() throws {
    let profiles = (0..<9).map {
      """
      [profile p\($0)]
      identity_pool_id = \(FakeUpstreams.pool)
      cognito_endpoint = http://127.0.0.1:4599

      """
    }
    let fixture = try ServiceFixture(profiles.joined())
    func login(_ number: Int, _ logins: [(String, String)]) throws -> Reply {
      let members = logins.map { #""\#($0.0)":"\#($0.1)""# }.joined(separator: ",")
      fixture.advance(by: .seconds(2))
      return try fixture.ask(#"{"op":"login","profile":"p\#(number)","logins":{\#(members)}}"#)
    }
    func token(_ subject: String, _ length: Int = 0) -> String {
      let filling = String(repeating: "x", count: length)
      return SampleJWT.text(#"{"sub":"\#(subject)","x":"\#(filling)"}"#)
    }
    for number in 0..<9 {
      let small = [("a.example", token("a1")), ("b.example", token("b1"))]
      expect(try login(number, small).state, equals: "signedIn")
    }
    let filling = String(repeating: "x", count: 50_000)
    let long =
      [("a.example", token("a2", 36_000)), ("b.example", token("b1", 36_000))]
      + (0..<8).map { ("login\($0).example", filling) }
    for number in 0..<8 { expect(try login(number, long).handle != nil) }
    let refused = try login(8, long)
    expect(refused.errorMessage?.contains("bytes of logins") == true, "\(refused)")
  }

  @Test func `sessions are as many as configured`() throws {
    let fixture = try ServiceFixture(
      Configured.usual(daemon: "max_sessions = 1") + Configured.profile("next"))
    expect(try fixture.ask().accessKeyID != nil)
    let refused = try fixture.ask(#"{"profile":"next"}"#)
    expect(refused.errorCode, equals: "TooManyRequests")
    expect(refused.errorMessage?.contains("max_sessions") == true)
    // The place of a profile that is removed is free.
    try fixture.reload(Configured.http(daemon: "max_sessions = 1") + Configured.profile("next"))
    expect(try fixture.ask(#"{"profile":"next"}"#).accessKeyID != nil)
  }
}
