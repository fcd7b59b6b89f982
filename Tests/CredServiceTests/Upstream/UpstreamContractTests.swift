import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// The contract of ``UpstreamPerforming``, for every call and every way in which it ends: one
/// completion, later, never within `start`, and none after `cancel`.
struct UpstreamContractTests {
  /// A configuration with a call of its profile.
  struct Case: CustomTestStringConvertible {
    let name: String
    let text: String
    let call: @Sendable (Values) -> UpstreamCall
    /// Set up before the call starts.
    var prepare: @Sendable (FakeHost) -> Void = { _ in }
    var succeeds = true

    var testDescription: String { name }
  }

  struct Values {
    let identity: IdentityID
    let token: Secret
  }

  private static let values: Values = {
    do throws(InvalidInput) {
      return Values(
        identity: try IdentityID("us-east-1:00000000-1111-2222-3333-444444444444"),
        token: Secret("token"))
    } catch {
      preconditionFailure("\(error)")
    }
  }()

  private final class Completions {
    var outcomes: [UpstreamOutcome] = []
  }

  /// Starts the call, and checks that its completion does not come within.
  private func start(
    _ number: Int, _ test: Case, _ fixture: ServiceFixture, _ ids: inout CallIDs,
    user: UnixUser = UnixUser(uid: 1000, name: "alice")
  ) throws -> (CallID, Completions) {
    let id = ids.next()
    let completions = Completions()
    let request = CallRequest(
      id: id, call: test.call(Self.values),
      profile: try #require(fixture.service.configuration.profiles["default"]), user: user,
      isInPerson: true, isRetry: false)
    fixture.upstream.start(request) { completions.outcomes.append($0) }
    expect(completions.outcomes.isEmpty, "within start, call \(number)")
    return (id, completions)
  }

  private func fixture(_ test: Case) throws -> ServiceFixture {
    let fixture = try ServiceFixture(test.text)
    test.prepare(fixture.host)
    return fixture
  }

  @Test(arguments: cases)
  func `each call ends once, and not within start`(_ test: Case) throws {
    let fixture = try fixture(test)
    var ids = CallIDs()
    let (_, completions) = try start(1, test, fixture, &ids)
    expect(fixture.upstream.callCount, equals: 1)
    fixture.advance(by: .seconds(120))
    expect(completions.outcomes.count, equals: 1)
    if case .failed(let failure)? = completions.outcomes.first {
      expect(!test.succeeds, "\(failure.message)")
      // Who mends it needs to know what was asked of whom, and what came of it.
      if let asked = fixture.host.http.requests.last {
        let place = asked.url.prefix { $0 != "?" }
        expect(failure.detail?.contains(place) == true, "\(failure.detail ?? "nothing")")
      }
    } else {
      expect(test.succeeds)
    }
    expect(fixture.upstream.callCount, equals: 0)
    // What was kept from the first time takes a shorter way.
    let (_, again) = try start(2, test, fixture, &ids)
    fixture.advance(by: .seconds(120))
    expect(again.outcomes.count, equals: 1)
  }

  @Test(arguments: cases)
  func `a call that is cancelled has no completion`(_ test: Case) throws {
    let fixture = try fixture(test)
    var ids = CallIDs()
    let (id, completions) = try start(1, test, fixture, &ids)
    fixture.upstream.cancel(id)
    fixture.advance(by: .seconds(120))
    expect(completions.outcomes.isEmpty)
    expect(fixture.upstream.callCount, equals: 0)
    fixture.upstream.cancel(id)
  }

  /// A sign-in says nothing about the calls of others, so it opens no circuit.
  @Test(
    arguments: cases.filter {
      $0.succeeds && $0.text.contains("rate_limit") && !$0.name.hasPrefix("sign-in")
    })
  func `the queue's refusal comes later, too`(_ test: Case) throws {
    let fixture = try fixture(test)
    fixture.host.http.answer = { _ in .failure(.connect) }
    fixture.host.commands.outcome = { _ in ExecOutcome(ending: .exited(75)) }
    var ids = CallIDs()
    var refused = 0
    // After some failures the queue refuses at once.
    for number in 1...12 {
      let user = UnixUser(uid: 1000 + UInt32(number), name: "alice")
      let (_, completions) = try start(number, test, fixture, &ids, user: user)
      let sent = fixture.host.http.requests.count + fixture.host.commands.commands.count
      fixture.host.settle()
      expect(completions.outcomes.count, equals: 1)
      if case .failed(let failure)? = completions.outcomes.first, failure.isWithheld {
        refused += 1
        expect(
          fixture.host.http.requests.count + fixture.host.commands.commands.count, equals: sent)
      }
    }
    expect(refused >= 5)
  }

  @Test func `a prioritised call overtakes the calls ahead of time`() throws {
    let test = Case(
      name: "", text: Configured.usual(backend: "max_parallel = 1"), call: Self.callback)
    let fixture = try fixture(test)
    var ids = CallIDs()
    var order: [CallID] = []
    let profile = try #require(fixture.service.configuration.profiles["default"])
    let calls = (0..<4).map { _ in ids.next() }
    for id in calls {
      let request = CallRequest(
        id: id, call: test.call(Self.values), profile: profile,
        user: UnixUser(uid: 1000, name: "alice"), isInPerson: false, isRetry: false)
      fixture.upstream.start(request) { _ in order.append(id) }
    }
    fixture.upstream.prioritise(calls[3])
    fixture.upstream.cancel(calls[1])
    fixture.host.settle()
    expect(order, equals: [calls[0], calls[3], calls[2]])
    expect(fixture.host.http.requests.count, equals: 3)
  }

  @Test func `signing out at a backend ends once, and not within the call`() throws {
    for url in ["logout_url = http://127.0.0.1/logout", ""] {
      let fixture = try ServiceFixture(Configured.usual(backend: url))
      expect(try fixture.ask().accessKeyID != nil)
      let session = try #require(fixture.service.sessions.values.first)
      var ids = CallIDs()
      for fault in [nil, FakeUpstreams.Fault.failure(.connect)] {
        fixture.host.upstreams.faults["logout"] = fault
        var ended: [UpstreamFailure?] = []
        let signOut = BackendSignOut(ids.next(), session, isGlobal: true)
        fixture.upstream.signOut(signOut) { ended.append($0) }
        expect(ended.isEmpty)
        fixture.host.settle()
        expect(ended.count, equals: 1)
        expect((ended.first == .some(nil)), equals: (fault == nil || url.isEmpty))
        expect(fixture.upstream.callCount, equals: 0)
      }
    }
  }

  /// What is no session's call, with what makes it fail.
  enum Deed: CaseIterable {
    case confirm, forgotPassword, confirmWithoutLibrary, signUpWithoutSecret, get, mfa, totp
    case compute, computeWithoutLibrary, converse, converseWithoutLibrary, converseThatHangs

    var isAccount: Bool {
      switch self {
      case .confirm, .forgotPassword, .confirmWithoutLibrary, .signUpWithoutSecret, .get, .mfa,
        .totp:
        true
      default: false
      }
    }
  }

  private func begin(
    _ deed: Deed, _ fixture: ServiceFixture, _ ids: inout CallIDs, _ ended: @escaping () -> Void
  ) throws -> CallID {
    let profile = try #require(fixture.service.configuration.profiles["default"])
    let user = UnixUser(uid: 1000, name: "alice")
    let id = ids.next()
    guard deed.isAccount else {
      let isProof = deed == .compute || deed == .computeWithoutLibrary
      var random: any RandomNumberGenerator = SystemRandomNumberGenerator()
      let step: ConversationStep =
        isProof
        ? .compute(.keyPair(SRPPrivateValue(using: &random)))
        : .send(
          .initiate(.custom, username: "alice", device: nil, metadata: ClientMetadata()))
      let call = ConversationCall(id: id, profile: profile, user: user, step: step, place: .primary)
      fixture.upstream.converse(call) { _, _ in ended() }
      return id
    }
    let input: AccountInput
    switch deed {
    case .forgotPassword: input = .forgotPassword(username: "alice")
    case .signUpWithoutSecret:
      input = .signUp(SignUp(username: "alice", password: Secret("Password-1")))
    case .get: input = .own(.get)
    case .mfa: input = .own(.mfa(MFAChoice(enabled: [], preferred: nil)))
    case .totp: input = .own(.totp(code: nil, name: nil))
    default: input = .confirm(username: "alice", code: Secret("1"))
    }
    let session = try #require(fixture.service.sessions.values.first?.machine.state.providerSession)
    let signedIn = AccountCall.SignedIn(
      session: session, accessToken: Secret("token"), isHeld: false)
    let call = AccountCall(id: id, profile: profile, user: user, input: input, signedIn: signedIn)
    fixture.upstream.account(call) { _ in ended() }
    return id
  }

  @Test func `a step of a sign-in that is withdrawn while a file is read is not sent`() throws {
    let (fixture, _) = try ServiceFixture.ofUserPool(
      Configured.userPool(backend: "client_secret_file = /run/secret"))
    fixture.host.queries.files["/run/secret"] = "secret"
    fixture.host.background.time[.files] = .seconds(1)
    var ids = CallIDs()
    var ends = 0
    let id = try begin(.converse, fixture, &ids) { ends += 1 }
    fixture.advance(by: .milliseconds(500))
    let sent = fixture.host.http.requests.count
    expect(fixture.upstream.callCount == 1 && fixture.upstream.withdraw(id))
    fixture.advance(by: .seconds(120))
    expect(ends == 0 && fixture.host.http.requests.count == sent)
    expect(fixture.upstream.callCount, equals: 0)
  }

  private func fixture(_ deed: Deed) throws -> ServiceFixture {
    let secret = deed == .signUpWithoutSecret ? "client_secret_file = /run/none" : ""
    let (fixture, pool) = try ServiceFixture.ofUserPool(Configured.userPool(backend: secret))
    try fixture.signInAtPool()
    switch deed {
    case .confirmWithoutLibrary, .computeWithoutLibrary, .converseWithoutLibrary:
      fixture.host.crypto.isInstalled = false
    case .converseThatHangs: pool.faults["InitiateAuth"] = [.silence]
    default: break
    }
    return fixture
  }

  @Test(arguments: Deed.allCases)
  func `what is no session's call ends once, and not within its start`(_ deed: Deed) throws {
    let fixture = try fixture(deed)
    var ids = CallIDs()
    var ends = 0
    _ = try begin(deed, fixture, &ids) { ends += 1 }
    expect(ends == 0 && fixture.upstream.callCount == 1)
    fixture.advance(by: .seconds(120))
    expect(ends == 1 && fixture.upstream.callCount == 0)
  }

  @Test(arguments: Deed.allCases, [Duration.zero, .milliseconds(1)])
  func `what is no session's call has no completion once it is cancelled`(
    _ deed: Deed, _ time: Duration
  ) throws {
    let fixture = try fixture(deed)
    fixture.host.background.time[.proofs] = .milliseconds(5)
    let answer = fixture.host.http.answer
    fixture.host.http.answer = {
      var reply = answer($0)
      reply.time = max(reply.time, .milliseconds(5))
      return reply
    }
    var ids = CallIDs()
    var ends = 0
    let id = try begin(deed, fixture, &ids) { ends += 1 }
    if time > .zero { fixture.advance(by: time) }
    let before = ends
    fixture.upstream.cancel(id)
    fixture.advance(by: .seconds(120))
    expect(ends == before && fixture.upstream.callCount == 0)
    fixture.upstream.cancel(id)
  }

  @Test func `a user without a name fails later where the template wants one`() throws {
    let text = Configured.http() + Configured.profile("default", identifier: "{user}")
    let test = Case(name: "", text: text, call: Self.callback)
    let fixture = try fixture(test)
    var ids = CallIDs()
    let (_, completions) = try start(
      1, test, fixture, &ids, user: UnixUser(uid: 4000, name: nil))
    fixture.host.settle()
    guard case .failed? = completions.outcomes.first else {
      Issue.record("\(completions.outcomes)")
      return
    }
    expect(fixture.host.http.requests.isEmpty)
  }
}
