import CredCore
import CredctlKit
import TestSupport
import Testing

struct GetArgumentsTests {
  private func options(_ arguments: String...) throws -> GetOptions? {
    try GetArguments.read(arguments[...])
  }

  private func request(_ arguments: String...) throws -> String? {
    try GetArguments.read(arguments[...]).map { String(decoding: $0.request, as: UTF8.self) }
  }

  private func complaint(_ arguments: [String]) -> String? {
    do throws(Failure) {
      _ = try GetArguments.read(arguments[...])
      return nil
    } catch {
      expect(error.status, equals: .usage)
      return error.message
    }
  }

  @Test func rendersTheRequest() throws {
    // The daemon knows which profile is meant.
    expect(try request("get"), equals: "{\"op\":\"get\"}\n")
    expect(try request("get", "default"), equals: "{\"op\":\"get\",\"profile\":\"default\"}\n")
    expect(
      try request("get", "--profile", "work", "--min-ttl=900", "--refresh", "--wait", "0"),
      equals: "{\"op\":\"get\",\"profile\":\"work\",\"min_ttl\":900,\"wait\":0,\"refresh\":true}\n")
  }

  @Test func takesTheProfileFromTheFirstWord() throws {
    expect(try options("get", "work")?.profile, equals: "work")
    expect(
      try options("--socket", "/a", "get", "--refresh", "work", "--wait", "1")?.profile,
      equals: "work")
  }

  @Test func takesTheProfileFromTheEnvironmentIfTheCommandLineNamesNone() throws {
    let variables = ["CREDD_PROFILE": "home", "AWS_PROFILE": "other"]
    let profile = DefaultProfile.name { variables[$0] }
    expect(profile, equals: "home")
    for (arguments, expected) in [
      (["get"], "home"), (["get", "work"], "work"), (["get", "-p", "work"], "work"),
    ] {
      expect(try GetArguments.read(arguments[...], profile: profile)?.profile, equals: expected)
    }
    expect(
      DefaultProfile.name { ["CREDD_PROFILE": "", "AWS_PROFILE": "other"][$0] }, equals: "default")
  }

  @Test(arguments: [
    (["env"], true), (["--socket", "env", "env", "x"], true), (["--socket=/a", "env", "-h"], true),
    (["env", "--format", "fish"], true), (["env", "--format", "dotenv"], false),
    (["env", "--format=json"], false), (["get"], false), (["exec", "--", "env"], false),
    ([], false),
    (["--socket"], false),
  ])
  func knowsWhenAShellEvaluatesTheOutput(_ arguments: [String], _ isExpected: Bool) {
    expect(EvaluatedOutput.isExpected(of: arguments[...]), equals: isExpected)
  }

  @Test func asksInTheNameOfAnotherUser() throws {
    expect(
      try request("get", "--user", #"a"b"#),
      equals: "{\"op\":\"get\",\"user\":\"a\\\"b\"}\n")
    expect(complaint(["get", "--user"]), equals: "option '--user' needs a value")
  }

  @Test(arguments: [
    ("0.2", "0.2"), ("5", "5"), ("5.0", "5"), ("007.050", "7.05"), ("0.001", "0.001"),
    ("299.999", "299.999"), ("300.000", "300"),
  ])
  func acceptsFractionsOfASecond(_ text: String, _ json: String) throws {
    expect(
      try request("get", "--wait", text),
      equals: "{\"op\":\"get\",\"wait\":\(json)}\n")
  }

  @Test(arguments: [
    "", ".", ".5", "5.", "1.2.3", "0.0001", "1e2", "+1", "-0", " 1", "1 ", "1,5", "٣", "0x1",
    "1000000", "300.001", "301",
  ])
  func refusesOtherTextsForSeconds(_ text: String) {
    #expect(throws: Failure.self) { try Waiting(minimumLifetime: nil, wait: text) }
  }

  @Test func escapesTheProfile() throws {
    expect(
      try request("get", "--profile=a\"\\\n"),
      equals: #"{"op":"get","profile":"a\"\\\u000a"}"# + "\n")
  }

  @Test func readsTheSocketBeforeAndAfterTheVerb() throws {
    expect(try options("--socket", "/a", "get")?.socket, equals: "/a")
    expect(try options("get", "--socket=/b")?.socket, equals: "/b")
    expect(try options("--socket=/a", "get", "--socket", "/b")?.socket, equals: "/b")
  }

  @Test func waitsLongerThanTheDaemon() throws {
    expect(try options("get")?.waiting.timeout, equals: 15)
    expect(try options("get", "--wait", "300")?.waiting.timeout, equals: 310)
    expect(try options("get", "--wait", "0.2")?.waiting.timeout, equals: 11)
  }

  @Test func theDaemonWaitsAsLongByDefault() {
    expect(.seconds(WaitLimits.defaultWait), equals: Limits.Line.defaultWait)
  }

  @Test(arguments: [
    (["get", "--profile"], "option '--profile' needs a value"),
    (["get", "--profile="], "option '--profile' needs a value"),
    (["get", "--profile", "--refresh"], "option '--profile' needs a value"),
    (["--socket"], "option '--socket' needs a value"),
    (["get", "--refresh=yes"], "option '--refresh' takes no value"),
    (
      ["get", "--min-ttl", "1h"],
      "option '--min-ttl' takes seconds from 0 to 43200, such as 5 or 0.2, not '1h'"
    ),
    (
      ["get", "--min-ttl=-1"],
      "option '--min-ttl' takes seconds from 0 to 43200, such as 5 or 0.2, not '-1'"
    ),
    (
      ["get", "--wait", "301"],
      "option '--wait' takes seconds from 0 to 300, such as 5 or 0.2, not '301'"
    ),
    (
      ["get", "--wait", "99999999999999999999"],
      "option '--wait' takes seconds from 0 to 300, such as 5 or 0.2, not '99999999999999999999'"
    ),
    (["get", "--min_ttl", "1"], "unknown option '--min_ttl' for get; did you mean '--min-ttl'?"),
    (["get", "--proflie", "1"], "unknown option '--proflie' for get; did you mean '--profile'?"),
    (["get", "--usr=x"], "unknown option '--usr' for get; did you mean '--user'?"),
    (["get", "--json"], "unknown option '--json' for get: see 'credctl help get'"),
    (["get", "work", "home"], "unexpected argument 'home': see 'credctl help get'"),
    (["get", "work", "-p", "work"], "give the profile once, as a word or with '--profile'"),
    (["get", "-p", "work", "work"], "give the profile once, as a word or with '--profile'"),
  ])
  func refusesWithAReason(_ arguments: [String], _ reason: String) {
    expect(complaint(arguments), equals: reason)
  }

  @Test(arguments: [
    [], ["status"], ["--help"], ["--version"], ["help", "get"], ["get", "--help"],
    ["get", "--profile", "x", "-h"], ["--socket", "/a", "status"], ["getx"], ["env"], ["exec"],
    ["ping", "--timeout", "1"],
  ])
  func leavesTheRestToArgumentParser(_ arguments: [String]) throws {
    expect(try GetArguments.read(arguments[...]) == nil)
  }
}
