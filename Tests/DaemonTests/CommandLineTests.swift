import TestSupport
import Testing

@testable import DaemonHarness

/// What command lines of credctl mean, and what wrong ones are answered.
@Suite(.onStage)
struct CommandLineTests {
  /// A wrong value before a right one is ignored, and a '--' at the end.
  @Test(arguments: [
    (["ping"], ["ping", "--"]), (["ping", "--json"], ["ping", "--json", "--"]),
    (["env"], ["env", "--"]), (["env", "--format", "fish"], ["env", "--format=fish", "--"]),
    (["env", "--min-ttl=60"], ["env", "--wait=x", "--wait=5", "--min-ttl", "60"]),
    (["env", "--profile", "missing"], ["env", "--profile", "missing", "--"]),
    (["env", "--min-ttl", "43200"], ["env", "--min-ttl", "43200", "--"]),
    (
      ["exec", "--", "sh", "-c", "env | grep AWS_ | sort; exit 3"],
      ["exec", "--wait=x", "--wait=5", "--", "sh", "-c", "env | grep AWS_ | sort; exit 3"]
    ),
    (
      ["exec", "--", "/nonexistent", "--help"],
      ["exec", "--wait=x", "--wait=5", "--", "/nonexistent", "--help"]
    ),
  ])
  func otherSpellingsMeanTheSame(_ usual: [String], _ other: [String]) throws {
    let host = try TestHost()
    let outcome = try host.credctl(usual)
    expect(!outcome.output.isEmpty || outcome.status != 0)
    expect(try host.credctl(other), equals: outcome)
  }

  /// Whoever reads one line and goes away wanted no more.
  @Test(arguments: [
    "status", "status --json", "profiles", "watch", "watch --json", "watch -p default", "env",
    "identity", "ping",
  ])
  func aReaderOfOneLineHearsOfNoError(_ verb: String) throws {
    let host = try TestHost()
    _ = try host.credentials()
    let outcome = try host.run([
      "/bin/bash", "-c", "'\(Programs.credctl)' --socket \(host.socketPath) \(verb) | head -n 1",
    ])
    expect(outcome.status == 0 && outcome.output.split(separator: "\n").count == 1, "\(outcome)")
    expect(outcome.errors.isEmpty)
  }

  @Test(arguments: [
    (["ping", "work"], "unexpected argument 'work': see 'credctl help'"),
    (["ping", "--jsno"], "unknown option '--jsno'; did you mean '--json'?"),
    (["identity", "--profil", "x"], "unknown option '--profil'; did you mean '--profile'?"),
    (["gte", "work"], "there is no verb 'gte'; did you mean 'get'?"),
    (["--socket", "/x", "statsu"], "there is no verb 'statsu'; did you mean 'status'?"),
    (["frobnicate"], "there is no verb 'frobnicate': see 'credctl help'"),
    (
      ["token", "x", "-p", "x"],
      "give the profile once, as a word or with '--profile': see 'credctl help'"
    ),
    (
      ["clear", "work"],
      "say what to clear, 'credentials' or 'identity', after the profile: see 'credctl help'"
    ),
    (["ping", "--timeout", "0"], "option '--timeout' takes whole seconds from 1 to 300, not '0'"),
    (["ping", "--socket"], "missing value for '--socket <path>': see 'credctl help'"),
    (["--socket", "--", "ping"], "option '--socket' needs a value"),
    (
      ["env", "--format", "csh"],
      "the value 'csh' is invalid for '--format <format>'. Please provide one of 'sh', 'fish', "
        + "'dotenv' or 'json': see 'credctl help'"
    ),
    (
      ["env", "--refresh=1"],
      "the option '--refresh' does not take any value, but '1' was specified: see 'credctl help'"
    ),
    (
      ["env", "--wait", "301"],
      "option '--wait' takes seconds from 0 to 300, such as 5 or 0.2, not '301'"
    ),
    (["env", "--user", "x"], "unknown option '--user': see 'credctl help'"),
    (["login", "--user", "x"], "unknown option '--user'; did you mean '--username'?"),
    (
      ["account", "staff", "confirm", "--user", "x"],
      "unknown option '--user'; did you mean '--username'?"
    ),
    (["help", "nonsense"], "there is no verb 'nonsense': see 'credctl help'"),
    (["--socket", "/x", "help", "gte"], "there is no verb 'gte'; did you mean 'get'?"),
    (["help", "account", "confrim"], "there is no action 'confrim'; did you mean 'confirm'?"),
    (["exec", "true"], "missing expected argument '-- <command> ...': see 'credctl help'"),
    (
      ["exec", "-p", "x", "--"], "missing expected argument '-- <command> ...': see 'credctl help'"
    ),
  ])
  func wrongArgumentsAreExplained(_ arguments: [String], _ message: String) throws {
    let process = try ChildProcess([Programs.credctl] + arguments)
    expect(try process.wait(), equals: 64)
    expect(process.output, equals: (arguments[0] == "env" ? "false\n" : ""))
    expect(process.errors, equals: "credctl: \(message)\n")
  }

  @Test func aloneItNamesItsMainVerbs() throws {
    let process = try ChildProcess([Programs.credctl])
    expect(try process.wait(), equals: 64)
    expect(process.output, equals: "")
    let lines = process.errors.split(separator: "\n")
    expect(lines.contains { $0.hasPrefix("  credctl login  ") }, "\(lines)")
    expect(lines.last, equals: "credctl: a verb is missing: see 'credctl help'")
  }

  /// What comes after '--' is the command's.
  @Test(arguments: ["exec", "serve"])
  func theUsageShowsOptionsBeforeTheCommand(_ verb: String) throws {
    let help = try ChildProcess([Programs.credctl, verb, "--help"])
    expect(try help.wait(), equals: 0)
    let usage = try #require(help.output.firstMatch(of: /USAGE: [^\n]*(\n +[^\n]+)*/)).output.0
    let end = try #require(usage.firstRange(of: " -- "))
    expect(usage[..<end.lowerBound].contains("--no-config"), "\(usage)")
    expect(!usage[end.upperBound...].contains("-"), "\(usage)")
  }

  /// A host whose profiles have other names than `default`, as most hosts.
  @Test
  func whoNamesNoProfileIsToldTheCommandsThatWork() throws {
    let host = try TestHost {
      Configuration.http(url: $0.url + "/token") + Configuration.profile("work", endpoint: $0.url)
        + Configuration.profile("closed", endpoint: $0.url, "allow_users = nobody-of-this-name")
    }
    let get = try host.credctl("get")
    expect(get.status == 64 || get.status == 77, "\(get)")
    expect(get.output, equals: "")
    expect(
      get.errors.hasSuffix("; open to you: work; name one, as in 'credctl get work'\n"), "\(get)")
    let exec = try host.credctl("exec", "--", "true")
    expect(exec.errors.hasSuffix("; name one, as in '--profile work'\n"), "\(exec)")
    expect(try host.credctl("get", "work").status, equals: 0)
  }

  @Test
  func theFirstWordNamesTheProfile() throws {
    let host = try TestHost {
      Configuration.usual($0) + Configuration.profile("other", endpoint: $0.url)
    }
    let named = try host.get("-p", "other")
    expect(named.status, equals: 0)
    expect(try host.get("other"), equals: named)
    expect(try host.get().output != named.output)
    expect(try host.credctl("identity", "other").output.hasPrefix("other signedIn "))
    expect(try host.credctl("token", "other").status, equals: 0)
    expect(try host.credctl("clear", "other", "credentials").output.hasPrefix("other signedIn "))
    expect(try host.credctl("clear", "credentials").output.hasPrefix("default signedIn "))
    expect(try host.credctl("logout", "other").output, equals: "other signedOut -\n")
  }

  @Test
  func theEnvironmentNamesTheProfileOfThoseThatNameNone() throws {
    let host = try TestHost {
      Configuration.usual($0) + Configuration.profile("other", endpoint: $0.url)
    }
    let variables = ["CREDD_PROFILE": "other", "AWS_PROFILE": "missing"]
    let credctl = [Programs.credctl, "--socket", host.socketPath]
    let other = try host.get("other")
    expect(other.status, equals: 0)
    expect(try host.run(credctl + ["get"], environment: variables), equals: other)
    expect(
      try host.run(credctl + ["get", "default"], environment: variables),
      equals: try host.get())
    expect(
      try host.run(credctl + ["identity"], environment: variables).output
        .hasPrefix("other signedIn "))
    expect(
      try host.run(credctl + ["clear", "identity"], environment: variables).output
        .hasPrefix("other "))
  }

  /// A daemon that accepts and never answers.
  @Test
  func pingGivesUpAfterItsOwnTime() throws {
    let path = try Stage.current().newFile("deaf")
    let listener = try ServiceManager(listeningOn: [path])
    defer { withExtendedLifetime(listener) {} }
    let process = try ChildProcess([Programs.credctl, "--socket", path, "ping", "--timeout", "1"])
    expect(try process.wait(), equals: 75)
    expect(process.errors.contains("in 1 s"))
  }

  /// What a daemon leaves behind that ends while it is asked: a script may try again.
  @Test
  func aGetDuringTheEndOfTheDaemonMayBeTriedAgain() throws {
    let host = try TestHost {
      Configuration.direct($0, "default", "guest = no")
    }
    let get = try ChildProcess(
      [Programs.credctl, "--socket", host.socketPath, "get", "--wait", "60"])
    try Deadline.usual.wait(for: "the daemon to wait") { try host.waiters() == 1 }
    expect(try host.stopDaemon(), equals: 0)
    expect(try get.wait(), equals: 75)
    expect(get.output.isEmpty)
    expect(get.errors.split(separator: "\n").count, equals: 1)
    // Now there is none.
    expect(try host.get().status, equals: 69)
  }

  /// In a terminal of its own, in which a shell would see the same.
  @Test(.enabled(if: PythonScript.canRun))
  func ctrlCAtThePasswordPromptIsNotARefusal() throws {
    let host = try TestHost { Configuration.password($0) }
    let script = try PythonScript(
      """
      import os, pty, sys
      child, terminal = pty.fork()
      if child == 0:
        os.execv(sys.argv[2], [sys.argv[2], "--socket", sys.argv[1], "login", "--username", "a"])
      seen = b""
      while b"Password of a" not in seen:
        seen += os.read(terminal, 1000)
      os.write(terminal, b"secr\\x03")
      print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
      """)
    expect(try script.lines(host, [Programs.credctl]), equals: ["130"])
  }

  @Test
  func aFileThatCannotBeUsedIsToldFromAWrongCommandLine() throws {
    let host = try TestHost()
    for arguments in [
      ["import", "/nonexistent"], ["import", "/"], ["login", "--login", "x.com=@/nonexistent"],
      ["login", "--login", "x.com=@/dev/null"], ["login", "--username", "a", "--password-stdin"],
    ] {
      let outcome = try host.credctl(arguments)
      expect(outcome.status, equals: 65, "\(arguments): \(outcome)")
      expect(outcome.output.isEmpty)
    }
  }

  @Test
  func importTakesAByteOrderMark() throws {
    let host = try TestHost()
    let pool = "us-east-1:11111111-2222-3333-4444-555555555555"
    let text =
      #"{"CredentialsProvider":{"CognitoIdentity":{"Default":{"PoolId":"\#(pool)","#
      + #""Region":"us-east-1"}}}}"#
    let outcome = try host.credctl(input: "\u{FEFF}" + text, "import", "-")
    expect(outcome.output.contains("identity_pool_id = \(pool)"), "\(outcome)")
    expect(outcome, equals: try host.credctl(input: text, "import", "-"))
  }

  @Test
  func everyProgramSaysItsVersion() throws {
    let versions = try [Programs.credd, Programs.credctl, Programs.sandbox].map { program in
      let process = try ChildProcess([program, "--version"])
      expect(try process.wait(), equals: 0)
      return process.output.split(whereSeparator: \.isWhitespace).last.map(String.init)
    }
    expect(versions[0] != nil)
    expect(Set(versions).count, equals: 1, "\(versions)")
  }
}
