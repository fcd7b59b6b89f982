import CredCore
import Testing

@testable import CredService

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
    #expect(completions.outcomes.isEmpty, "within start, call \(number)")
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
    #expect(fixture.upstream.callCount == 1)
    fixture.advance(by: .seconds(120))
    #expect(completions.outcomes.count == 1)
    if case .failed(let failure)? = completions.outcomes.first {
      #expect(!test.succeeds, "\(failure.message)")
    } else {
      #expect(test.succeeds)
    }
    #expect(fixture.upstream.callCount == 0)
    // What was kept from the first time takes a shorter way.
    let (_, again) = try start(2, test, fixture, &ids)
    fixture.advance(by: .seconds(120))
    #expect(again.outcomes.count == 1)
  }

  @Test(arguments: cases)
  func `a call that is cancelled has no completion`(_ test: Case) throws {
    let fixture = try fixture(test)
    var ids = CallIDs()
    let (id, completions) = try start(1, test, fixture, &ids)
    fixture.upstream.cancel(id)
    fixture.advance(by: .seconds(120))
    #expect(completions.outcomes.isEmpty)
    #expect(fixture.upstream.callCount == 0)
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
      let (_, completions) = try start(number, test, fixture, &ids)
      let sent = fixture.host.http.requests.count + fixture.host.commands.commands.count
      fixture.host.settle()
      #expect(completions.outcomes.count == 1)
      if case .failed(let failure)? = completions.outcomes.first, failure.isWithheld {
        refused += 1
        #expect(fixture.host.http.requests.count + fixture.host.commands.commands.count == sent)
      }
    }
    #expect(refused >= 5)
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
    #expect(order == [calls[0], calls[3], calls[2]])
    #expect(fixture.host.http.requests.count == 3)
  }

  @Test func `signing out at a backend ends once, and not within the call`() throws {
    for url in ["logout_url = http://127.0.0.1/logout", ""] {
      let fixture = try ServiceFixture(Configured.usual(backend: url))
      #expect(try fixture.ask().accessKeyID != nil)
      let session = try #require(fixture.service.sessions.values.first)
      var ids = CallIDs()
      for fault in [nil, FakeUpstreams.Fault.failure(.connect)] {
        fixture.host.upstreams.faults["logout"] = fault
        var ended: [UpstreamFailure?] = []
        let signOut = GlobalSignOut((0..<100).map { _ in ids.next() }[99], session)
        fixture.upstream.signOut(signOut) { ended.append($0) }
        #expect(ended.isEmpty)
        fixture.host.settle()
        #expect(ended.count == 1)
        #expect((ended.first == .some(nil)) == (fault == nil || url.isEmpty))
        #expect(fixture.upstream.callCount == 0)
      }
    }
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
    #expect(fixture.host.http.requests.isEmpty)
  }
}

extension UpstreamContractTests {
  private static let callback: @Sendable (Values) -> UpstreamCall = { _ in
    .tokenCallback(identityID: nil, logins: LoginsMap(), session: nil)
  }

  private static let exchange: @Sendable (Values) -> UpstreamCall = {
    .getCredentials(identityID: $0.identity, logins: LoginsMap(), customRoleARN: nil)
  }

  private static let role: @Sendable (Values) -> UpstreamCall = {
    .assumeRole(identityID: $0.identity, token: $0.token)
  }

  private static let limits = "rate_limit = 1000/s\nmax_parallel = 8"

  private static func backend(_ keys: String) -> String {
    """
    [backend corp]
    \(keys)
    \(limits)

    """ + Configured.profile("default")
  }

  private static let http = Configured.usual(backend: limits)

  private static func basic(_ keys: String) -> String {
    Configured.usual(
      profile: "sts_endpoint = http://127.0.0.1:4599\nflow = basic\n"
        + "role_arn = arn:aws:iam::123456789012:role/basic\n\(keys)", backend: limits)
  }

  private static let tokenFile = """
    [profile default]
    identity_pool_id = \(FakeUpstreams.pool)
    cognito_endpoint = http://127.0.0.1:4599
    web_identity_token_file = /run/token
    web_identity_provider = login.example.app

    """

  private static let cognito = backend(
    "type = cognito\ncognito_endpoint = http://127.0.0.1:4599\ncredentials_file = /etc/keys")

  private static let process = backend(
    "type = cognito\ncognito_endpoint = http://127.0.0.1:4599\ncredential_process = /bin/keys")

  private static let keys =
    "[default]\naws_access_key_id = AKIAEXAMPLEEXAMPLE00\n"
    + "aws_secret_access_key = secret\n"

  private static let processOutput =
    #"{"Version":1,"AccessKeyId":"AKIAEXAMPLEEXAMPLE00","#
    + #""SecretAccessKey":"secret"}"#

  private static func output(_ text: String) -> ExecOutcome {
    ExecOutcome(ending: .exited(0), standardOutput: Secret(text), standardError: [])
  }

  static let cases: [Case] = [
    Case(name: "token callback", text: http, call: callback),
    Case(
      name: "token callback with a bearer file",
      text: Configured.usual(backend: limits + "\nbearer_token_file = /run/bearer"),
      call: callback, prepare: { $0.queries.files["/run/bearer"] = "b" }),
    Case(
      name: "token callback without its bearer file",
      text: Configured.usual(backend: limits + "\nbearer_token_file = /run/none"), call: callback,
      succeeds: false),
    Case(
      name: "token callback with a file that hangs",
      text: Configured.usual(backend: limits + "\nbearer_token_file = /run/bearer"),
      call: callback, prepare: { $0.background.time[.files] = .some(nil) }, succeeds: false),
    Case(
      name: "token callback without an answer", text: http, call: callback,
      prepare: { $0.upstreams.faults["token"] = .hang }, succeeds: false),
    Case(
      name: "sign-in", text: Configured.password(backend: limits),
      call: { _ in .signIn(username: "alice", password: Secret("alice-password")) }),
    Case(
      name: "sign-in that is refused", text: Configured.password(backend: limits),
      call: { _ in .signIn(username: "alice", password: Secret("no")) }, succeeds: false),
    Case(name: "GetId", text: http, call: { _ in .getID(logins: LoginsMap()) }),
    Case(
      name: "GetId with logins that Cognito refuses", text: http,
      call: { values in
        var logins = LoginsMap()
        try? logins.set("cognito-identity.amazonaws.com", token: values.token)
        return .getID(logins: logins)
      }, succeeds: false),
    Case(
      name: "GetOpenIdToken", text: http,
      call: { .getOpenIDToken(identityID: $0.identity, logins: LoginsMap()) }),
    Case(name: "GetCredentialsForIdentity", text: http, call: exchange),
    Case(name: "AssumeRoleWithWebIdentity", text: basic(""), call: role),
    Case(
      name: "AssumeRoleWithWebIdentity with a policy", text: basic("policy_file = /etc/policy"),
      call: role, prepare: { $0.queries.files["/etc/policy"] = "{}" }),
    Case(
      name: "AssumeRoleWithWebIdentity without its policy file",
      text: basic("policy_file = /etc/none"), call: role, succeeds: false),
    Case(
      name: "token file", text: tokenFile, call: { _ in .readTokenFile },
      prepare: { $0.queries.files["/run/token"] = " token\n" }),
    Case(
      name: "token file that is empty", text: tokenFile, call: { _ in .readTokenFile },
      prepare: { $0.queries.files["/run/token"] = "\n" }, succeeds: false),
    Case(
      name: "token file that is missing", text: tokenFile, call: { _ in .readTokenFile },
      succeeds: false),
    Case(
      name: "command that cannot be started", text: backend("type = exec\ncommand = /bin/none"),
      call: callback, succeeds: false),
    Case(
      name: "command", text: backend("type = exec\ncommand = /bin/token"), call: callback,
      prepare: {
        $0.commands.outcome = { _ in
          output(#"{"IdentityId":"us-east-1:00000000-1111-2222-3333-444444444444","Token":"t"}"#)
        }
      }),
    Case(
      name: "own credentials from a file", text: cognito, call: callback,
      prepare: {
        $0.queries.files["/etc/keys"] = keys
        $0.upstreams.answersDeveloperTokens = true
      }),
    Case(
      name: "own credentials without a crypto library", text: cognito, call: callback,
      prepare: {
        $0.queries.files["/etc/keys"] = keys
        $0.crypto.isInstalled = false
      }, succeeds: false),
    Case(
      name: "own credentials of a process", text: process, call: callback,
      prepare: {
        $0.commands.outcome = { _ in output(processOutput) }
        $0.upstreams.answersDeveloperTokens = true
      }),
    Case(
      name: "own credentials of a process that fails", text: process, call: callback,
      prepare: { $0.commands.outcome = { _ in ExecOutcome(ending: .exited(1)) } }, succeeds: false),
    Case(
      name: "sample server that cannot be reached",
      text: backend("type = aws-sample\nurl = http://127.0.0.1:8080"),
      call: { _ in .signIn(username: "alice", password: Secret("alice-password")) },
      prepare: { $0.upstreams.faults["login"] = .failure(.connect) }, succeeds: false),
    Case(
      name: "sample server and a name that is too short",
      text: backend("type = aws-sample\nurl = http://127.0.0.1:8080"),
      call: { _ in .signIn(username: "a", password: Secret("alice-password")) }, succeeds: false),
  ]
}
