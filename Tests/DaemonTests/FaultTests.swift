import TestSupport
import Testing

@testable import DaemonHarness

/// Upstream goes wrong in every way there is: a clear error, no loop, and all is well afterwards.
@Suite(.onStage)
struct FaultTests {
  /// A fault that lasts, and what a caller without credentials is told about it.
  struct Trouble: CustomTestStringConvertible {
    let fault: String
    let code: String
    let words: String

    init(
      _ service: String, _ kind: String, _ code: String, _ words: String, with more: String = ""
    ) {
      fault = #"{"Service":"\#(service)","Kind":"\#(kind)","Count":-1\#(more)}"#
      self.code = code
      self.words = words
    }

    var testDescription: String { fault }
  }

  /// Those that take a real connection or the sandbox's rules. Statuses and bodies are tested in
  /// virtual time: CredServiceTests, FaultTests.
  static let troubles = [
    Trouble("backend", "throttle", "Throttled", "asked too often", with: #","RetryAfter":1"#),
    Trouble("backend", "reset", "BackendUnavailable", "broke the connection off"),
    Trouble("backend", "truncate", "BackendUnavailable", "broke the connection off"),
    Trouble("backend", "oversize", "BackendUnavailable", "more than its limit"),
    Trouble("backend", "malformed", "BackendUnavailable", "cannot be used"),
    Trouble("backend", "hang", "BackendUnavailable", "did not answer in time"),
    Trouble("backend", "wrongPool", "PoolMisconfigured", "another identity pool"),
    Trouble("backend", "expiredToken", "TokenRejected", "expired"),
    Trouble("cognito", "throttle", "Throttled", "asked too often", with: #","RetryAfter":1"#),
    Trouble("cognito", "truncate", "CognitoUnavailable", "broke the connection off"),
    Trouble("cognito", "html", "CognitoUnavailable", "web page"),
    Trouble("cognito", "wrongPool", "PoolMisconfigured", "identity_pool_id"),
    Trouble("cognito", "expiredToken", "TokenRejected", "expired"),
  ]

  @Test(arguments: troubles)
  func troubleIsNamedAndPasses(_ trouble: Trouble) throws {
    let timeout = trouble.fault.contains("hang") ? "500ms" : "60s"
    let host = try TestHost { Configuration.usual($0, timeout: timeout) }
    try host.sandbox.plan(trouble.fault)
    let refused = try host.refusal(#"{"wait":1}"#)
    expect(refused.errorCode, equals: trouble.code)
    expect(refused.errorMessage?.contains(trouble.words) == true, "\(refused)")
    expect(refused["AccessKeyId"] == nil)
    // One attempt, with one correction at most.
    expect(try host.sandbox.callbacks <= 2)
    expect(try host.sandbox.exchanges <= 2)
    let status = try host.ask(#"{"op":"status"}"#)
    expect(status["Sessions"]?[0]?["LastError"]?["Code"]?.text, equals: trouble.code)
    try host.sandbox.clearFaults()
    try Deadline.usual.wait(for: "the recovery") {
      try host.ask(#"{"wait":2}"#)["AccessKeyId"] != nil
    }
    let healed = try host.ask(#"{"op":"status"}"#)
    expect(healed["Sessions"]?[0]?["Failures"]?.number, equals: 0)
  }

  @Test
  func transientFaultIsOverBeforeTheCallerNotices() throws {
    let host = try TestHost()
    try host.sandbox.plan(#"{"Service":"cognito","Kind":"status","Status":503}"#)
    expect(try host.ask(#"{"wait":120}"#)["AccessKeyId"] != nil)
    expect(try host.sandbox.exchanges, equals: 2)
  }

  @Test(arguments: ["backend", "cognito"])
  func retryAfterIsKept(_ service: String) throws {
    let host = try TestHost()
    try host.sandbox.plan(
      #"{"Service":"\#(service)","Kind":"throttle","Count":-1,"RetryAfter":120}"#)
    let refused = try host.ask()
    expect(refused.errorCode, equals: "Throttled")
    let pause = try #require(refused["Error"]?["RetryAfter"]?.number)
    expect((30...120).contains(pause))
    let calls = (try host.sandbox.callbacks, try host.sandbox.exchanges)
    // What the server asked for binds callers too.
    expect(try host.ask().errorCode, equals: "Throttled")
    expect(try (host.sandbox.callbacks, host.sandbox.exchanges) == calls)
    let outcome = try host.get()
    expect(outcome.status, equals: 75)
    expect(outcome.errors.contains(/ask again in \d{2,3} s/))
  }

  @Test
  func hangingCognitoIsADeadlineForTheCaller() throws {
    let host = try TestHost()
    try host.sandbox.plan(#"{"Service":"cognito","Kind":"hang"}"#)
    // It is not Cognito's own deadline that ends the wait.
    expect(try host.ask(#"{"wait":0.5}"#).errorCode, equals: "Timeout")
  }

  @Test
  func expiredTokenIsReplacedOnce() throws {
    let host = try TestHost()
    try host.sandbox.plan(#"{"Service":"cognito","Kind":"expiredToken"}"#)
    expect(try host.ask()["AccessKeyId"] != nil)
    expect(try host.sandbox.callbacks, equals: 2)
    expect(try host.sandbox.exchanges, equals: 2)
  }

  @Test
  func expiredTokenOfTheBackendIsReplacedOnce() throws {
    let host = try TestHost()
    try host.sandbox.plan(#"{"Service":"backend","Kind":"expiredToken"}"#)
    expect(try host.ask()["AccessKeyId"] != nil)
    expect(try host.sandbox.callbacks, equals: 2)
  }

  @Test
  func changedIdentityIsAdopted() throws {
    let host = try TestHost()
    expect(try host.ask()["AccessKeyId"] != nil)
    let before = try #require(try host.ask(#"{"op":"identity"}"#)["IdentityId"]?.text)
    try host.sandbox.control("POST", "revoke", #"{"User":"alice"}"#)
    try host.sandbox.plan(#"{"Service":"backend","Kind":"changedIdentity"}"#)
    let refreshed = try host.ask(#"{"refresh":true}"#)
    let key = try #require(refreshed["AccessKeyId"]?.text, "\(refreshed)")
    let after = try #require(try host.ask(#"{"op":"identity"}"#)["IdentityId"]?.text)
    expect(after != before)
    expect(
      try host.sandbox.control("GET", "issued?AccessKeyId=\(key)")["IdentityId"]?.text,
      equals: after)
    expect(host.log.contains("identity changed"))
  }

  @Test
  func identityThatCognitoMergedIsAdopted() throws {
    let host = try TestHost()
    let before = try #require(try host.ask(#"{"op":"token"}"#)["IdentityId"]?.text)
    try host.sandbox.plan(#"{"Service":"cognito","Kind":"changedIdentity"}"#)
    expect(try host.ask()["AccessKeyId"] != nil)
    let after = try #require(try host.ask(#"{"op":"identity"}"#)["IdentityId"]?.text)
    expect(after != before)
    expect(try host.ask(#"{"refresh":true}"#)["AccessKeyId"] != nil)
  }

  @Test
  func deletedIdentityIsReplaced() throws {
    let host = try TestHost()
    expect(try host.ask()["AccessKeyId"] != nil)
    let before = try #require(try host.ask(#"{"op":"identity"}"#)["IdentityId"]?.text)
    try host.sandbox.control("DELETE", "identity?IdentityId=\(before)")
    let refreshed = try host.ask(#"{"refresh":true}"#)
    expect(refreshed["AccessKeyId"] != nil, "\(refreshed)")
    expect(try host.ask(#"{"op":"identity"}"#)["IdentityId"]?.text != before)
  }

  @Test
  func redirectIsNotFollowed() throws {
    let host = try TestHost()
    let target = try Sandbox()
    try host.sandbox.plan(
      #"{"Service":"backend","Kind":"redirect","Status":307,"Location":"\#(target.url)/token"}"#)
    expect(try host.refusal(#"{"wait":1}"#).errorCode, equals: "BackendUnavailable")
    expect(try target.callbacks, equals: 0)
  }

  @Test(arguments: [
    (#""cognito","Kind":"status","Status":500"#, "CognitoUnavailable"),
    (#""backend","Kind":"reset""#, "BackendUnavailable"),
  ])
  func credentialsAtHandServeWhileUpstreamFails(fault: String, code: String) throws {
    let host = try TestHost()
    let credentials = try host.ask()
    expect(credentials["AccessKeyId"] != nil)
    try host.sandbox.plan(#"{"Service":"# + fault + #","Count":-1}"#)
    let forced = try host.refusal(#"{"refresh":true,"wait":2}"#)
    expect(forced.errorCode, equals: code)
    expect(try host.ask(), equals: credentials)
    expect(try host.get().status, equals: 0)
    let status = try host.ask(#"{"op":"status"}"#)
    expect(status["Sessions"]?[0]?["State"]?.text, equals: "signedIn")
    expect(status["Sessions"]?[0]?["LastError"]?["Code"]?.text, equals: code)
    try host.sandbox.clearFaults()
    try Deadline.usual.wait(for: "a refresh") {
      let refreshed = try host.ask(#"{"refresh":true}"#)
      return refreshed["AccessKeyId"] != nil && refreshed != credentials
    }
  }

  @Test
  func wrongClockOfTheServiceDoesNoHarm() throws {
    let host = try TestHost()
    try host.sandbox.plan(
      #"{"Service":"backend","Kind":"dateSkew","Seconds":-7200,"Count":-1}"#)
    try host.sandbox.plan(
      #"{"Service":"cognito","Kind":"dateSkew","Seconds":-7200,"Count":-1}"#)
    let first = try host.ask()
    // By as much as the answers took the clock is further off.
    let atMost = 7200.0 + 300
    expect(first["AccessKeyId"] != nil, "\(first)")
    // By this host's clock they have expired; by the server's, which counts, they have not.
    expect(try host.ask(), equals: first)
    expect(try host.sandbox.exchanges, equals: 1)
    // A person is told, once, because clients go by the local clock.
    let told = host.log.split(separator: "\n").filter { $0.contains("says AWS") }
    expect(told.count, equals: 1)
    let fast = told.first?.firstMatch(of: /warning: this host's clock is (\d+) s fast/)
    expect(fast.flatMap { Double($0.1) }.map { (7200...atMost).contains($0) } ?? false)
    let skew = try host.ask(#"{"op":"status"}"#)["Daemon"]?["ClockSkew"]?.number
    expect(skew.map { (7198...atMost).contains(-$0) } ?? false)
    try host.sandbox.clearFaults()
    expect(try host.ask(#"{"refresh":true}"#)["AccessKeyId"] != nil)
    expect(host.log.contains("clock is right again"))
    expect(try host.ask(#"{"op":"status"}"#)["Daemon"]?["ClockSkew"] == nil)
  }
}
