import Foundation
import Glibc
import Testing
import TestSupport

@testable import DaemonHarness

/// `credctl exec`: a real command in credctl's place.
@Suite(.onStage)
struct ExecTests {
  private static let keys = [
    "AWS_ACCESS_KEY_ID": "AccessKeyId", "AWS_SECRET_ACCESS_KEY": "SecretAccessKey",
    "AWS_SESSION_TOKEN": "SessionToken", "AWS_CREDENTIAL_EXPIRATION": "Expiration",
  ]

  /// Runs `credctl exec OPTIONS -- COMMAND` with that environment.
  private func exec(
    _ host: TestHost, _ options: [String] = [], _ command: [String],
    environment: [String: String] = [:]
  ) throws -> TestHost.Outcome {
    try host.run(
      [Programs.credctl, "--socket", host.socketPath, "exec"] + options + ["--"] + command,
      environment: environment)
  }

  /// Entries of an environment that was printed by env(1), by name.
  private func entries(_ output: String) -> [String: String] {
    var entries: [String: String] = [:]
    for line in output.split(separator: "\n") {
      let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { entries[String(parts[0])] = String(parts[1]) }
    }
    for name in Sanitizer.variables { entries[name] = nil }
    return entries
  }

  @Test
  func commandGetsCredentialsAndNothingThatContradictsThem() throws {
    let host = try TestHost()
    let outcome = try exec(
      host, ["--profile", "default"], ["/usr/bin/env"],
      environment: [
        "KEPT": "as it was", "AWS_REGION": "eu-central-1", "AWS_PROFILE": "other",
        "AWS_ACCESS_KEY_ID": "AKIAOLD", "AWS_SECURITY_TOKEN": "old", "AWS_ACCOUNT_ID": "1",
      ])
    expect(outcome.status, equals: 0)
    expect(outcome.errors.isEmpty)
    let reply = try host.ask()
    var expected = [
      "KEPT": "as it was", "AWS_REGION": "eu-central-1", "AWS_DEFAULT_REGION": "eu-central-1",
      "PATH": "/usr/local/bin:/usr/bin:/bin",
    ]
    for (name, key) in Self.keys { expected[name] = try #require(reply[key]?.text) }
    expect(entries(outcome.output), equals: expected)
    expect(try host.sandbox.exchanges, equals: 1)
  }

  @Test
  func commandGetsTheRegionOfThePool() throws {
    let host = try TestHost()
    let variables = entries(try exec(host, [], ["/usr/bin/env"]).output)
    expect(variables["AWS_REGION"], equals: "us-east-1")
    expect(variables["AWS_DEFAULT_REGION"], equals: "us-east-1")
    // `get` stays exactly the credential_process format.
    expect(Set(try host.ask().keys).isDisjoint(with: ["Region", "IdentityId"]))
  }

  @Test
  func accountIsNamedWhereItIsKnown() throws {
    let host = try TestHost {
      Configuration.usual(
        $0,
        profile: """
          flow = basic
          role_arn = \(Configuration.role("authenticated"))
          sts_endpoint = \($0.url)
          """)
    }
    let reply = try host.ask()
    try #require(reply["AccountId"] != nil, "\(reply)")
    let variables = entries(try exec(host, [], ["/usr/bin/env"]).output)
    expect(variables["AWS_ACCOUNT_ID"], equals: reply["AccountId"]?.text)
  }

  @Test
  func noShellReadsTheArguments() throws {
    let host = try TestHost()
    let outcome = try exec(
      host, [], ["printf", "%s|", "--", "a b", "$HOME", "", "*", "--profile", "-p", "é;'\""])
    expect(outcome.output, equals: "--|a b|$HOME||*|--profile|-p|é;'\"|")
  }

  @Test
  func commandTakesTheProcessItsStatusAndItsSignals() throws {
    let host = try TestHost()
    expect(try exec(host, [], ["/bin/sh", "-c", "exit 41"]).status, equals: 41)
    expect(try exec(host, [], ["/bin/sh", "-c", "kill -TERM $$"]).status, equals: 128 + SIGTERM)
    let process = try ChildProcess(
      [
        Programs.credctl, "--socket", host.socketPath, "exec", "--", "/bin/sh", "-c",
        "echo $$; exec sleep 1000",
      ])
    try Deadline.usual.wait(for: "the command") { !process.output.isEmpty }
    expect(process.output, equals: "\(process.pid)\n")
    process.send(SIGINT)
    expect(try process.wait(), equals: 128 + SIGINT)
  }

  /// What credctl sets for itself is gone, and what its caller set is there: how SIGPIPE and SIGXFSZ are taken,
  /// the limit on core dumps, whether others of the user may look, descriptors.
  @Test(arguments: [
    "ulimit -Sc 7", "ulimit -Sc 7; trap '' PIPE", "ulimit -c 0; exec 7</dev/null; trap '' XFSZ",
  ])
  func commandInheritsWhatCredctlInherited(_ setting: String) throws {
    let host = try TestHost()
    let looking = """
      grep -E '^Sig(Blk|Ign)' /proc/self/status; grep 'core file' /proc/self/limits; \
      cat /proc/$$/environ >/dev/null && echo readable; cd /proc/$$/fd && echo *
      """
    let outcome = try host.run([
      "/bin/sh", "-c",
      """
      \(setting); /bin/sh -c "$0"; echo --
      exec "$1" --socket "$2" exec -- /bin/sh -c "$0"
      """, looking, Programs.credctl, host.socketPath,
    ])
    expect(outcome.errors.isEmpty)
    let parts = outcome.output.components(separatedBy: "--\n")
    expect(parts.count, equals: 2)
    expect(parts.first?.contains("readable") == true)
    expect(parts.first, equals: parts.last)
  }

  /// As where a script's limit is reached (`ulimit -f`): no signal, but a word and a status.
  @Test
  func aFileAtItsLimitIsAnError() throws {
    let host = try TestHost()
    let script = """
      { ( ulimit -f 0; exec "$0" --socket "$1" get >"$2" ) 2>&1; echo "status $?"; } | cat
      """
    let file = try Stage.current().newFile("credentials")
    let outcome = try host.run(["/bin/sh", "-c", script, Programs.credctl, host.socketPath, file])
    expect(
      outcome.output,
      equals: "credctl: cannot write to standard output: File too large\nstatus 74\n")
  }

  @Test
  func commandThatCannotBeRunEndsAsWithEnv() throws {
    let host = try TestHost()
    let missing = try exec(host, [], ["no-such-command"])
    expect(missing.status, equals: 127)
    expect(
      missing.errors, equals: "credctl: cannot run 'no-such-command': No such file or directory\n")
    let folder = try exec(host, [], ["/etc"])
    expect(folder.status, equals: 126)
    expect(folder.errors, equals: "credctl: cannot run '/etc': Permission denied\n")
    let file = try exec(host, [], ["/etc/passwd"])
    expect(file.status, equals: 126)
    expect(missing.output + folder.output + file.output, equals: "")
  }

  @Test
  func commandIsFoundInThePath() throws {
    let host = try TestHost()
    let folder = try Stage.current().folder
    let script = folder + "/only-here"
    try ChildProcess(["/bin/sh", "-c", "printf '#!/bin/sh\\necho found $1\\n' >\(script)"]).wait()
    unsafe chmod(script, 0o755)
    let outcome = try exec(
      host, [], ["only-here", "it"], environment: ["PATH": "/nowhere:\(folder)"])
    expect(outcome, equals: TestHost.Outcome(status: 0, output: "found it\n", errors: ""))
  }

  @Test
  func nothingRunsWithoutCredentials() throws {
    let host = try TestHost(sandbox: ["--credential-lifetime", "600"])
    let file = try Stage.current().newFile("touched")
    let touch = ["/usr/bin/touch", file]
    for (options, status) in [
      (["--profile", "missing"], 64 as Int32), ([], 64), (["--min-ttl", "601"], 64),
      (["--wait", "x"], 64), (["--min-ttl", "0", "--socket", "/nowhere"], 69),
    ] {
      let outcome = try exec(host, options, touch)
      expect(outcome.status, equals: status)
      expect(outcome.output.isEmpty)
      expect(outcome.errors.hasPrefix("credctl: "))
      expect(outcome.errors.split(separator: "\n").count, equals: 1)
    }
    expect(
      try exec(host, [], touch).errors.hasSuffix(
        "asks for 900 s, but credentials of this profile last 600 s: take less with '--min-ttl'\n"))
    expect(!FileManager.default.fileExists(atPath: file))
    expect(try exec(host, ["--min-ttl", "0"], touch).status, equals: 0)
    expect(FileManager.default.fileExists(atPath: file))
  }

  @Test
  func outageIsNamedRatherThanCredentialsThatEndSoonHandedOut() throws {
    let host = try TestHost(sandbox: ["--credential-lifetime", "1000"])
    try host.ask()
    try host.sandbox.plan(#"{"Service":"cognito","Kind":"status","Status":503,"Count":-1}"#)
    var refused = TestHost.Outcome(status: 0, output: "", errors: "")
    try Deadline.usual.wait(for: "two seconds to be gone of the lifetime") {
      refused = try exec(host, ["--min-ttl", "998", "--wait", "1"], ["/usr/bin/env"])
      return refused.status != 0
    }
    expect(refused.status, equals: 75)
    expect(refused.output.isEmpty)
    let taken = try exec(host, ["--min-ttl", "0"], ["/usr/bin/env"])
    expect(taken.status, equals: 0)
    expect(taken.output.contains("AWS_SESSION_TOKEN="))
  }

  @Test
  func commandIsRequiredAfterTwoDashes() throws {
    let host = try TestHost()
    for arguments in [["exec"], ["exec", "--"], ["exec", "/usr/bin/env"]] {
      let outcome = try host.credctl(arguments)
      expect(outcome.status, equals: 64)
      expect(outcome.output.isEmpty)
      expect(outcome.errors.split(separator: "\n").count, equals: 1)
    }
  }
}
