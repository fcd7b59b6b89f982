import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// `credctl env`, read by those it is written for.
@Suite(.onStage)
struct EnvTests {
  /// Runs a script in which `$CREDCTL` is credctl with the host's socket.
  private func script(
    _ host: TestHost, _ shell: String, _ text: String, environment: [String: String] = [:]
  ) throws -> TestHost.Outcome {
    var environment = environment
    environment["CREDCTL"] = Programs.credctl
    environment["CREDD_SOCKET"] = host.socketPath
    environment["HOME"] = try Stage.current().folder
    return try host.run([shell, "-c", text], environment: environment)
  }

  private static let printing =
    #"env | grep -E '^(AWS_|KEPT)' | LC_ALL=C sort"#

  private func expected(_ host: TestHost) throws -> String {
    let reply = try host.ask()
    let lines = try [
      ("AWS_ACCESS_KEY_ID", "AccessKeyId"), ("AWS_CREDENTIAL_EXPIRATION", "Expiration"),
      ("AWS_SECRET_ACCESS_KEY", "SecretAccessKey"), ("AWS_SESSION_TOKEN", "SessionToken"),
    ].map { name, key in "\(name)=\(try #require(reply[key]?.text))\n" }
    let regions = ["AWS_DEFAULT_REGION=us-east-1\n", "AWS_REGION=us-east-1\n"]
    return (lines + regions).sorted().joined() + "KEPT=1\n"
  }

  private static let before = [
    "KEPT": "1", "AWS_PROFILE": "other", "AWS_SECURITY_TOKEN": "old", "AWS_ACCESS_KEY_ID": "old",
  ]

  @Test(arguments: ["sh", "bash"])
  func shellTakesThem(_ name: String) throws { try expectTaken(by: name) }

  @Test(.enabled(if: Programs.installed("zsh") != nil, "takes zsh(1)"))
  func zshTakesThem() throws { try expectTaken(by: "zsh") }

  private func expectTaken(by name: String) throws {
    let host = try TestHost()
    let outcome = try script(
      host, try #require(Programs.installed(name)),
      #"eval "$("$CREDCTL" env)" && "# + Self.printing, environment: Self.before)
    expect(outcome, equals: TestHost.Outcome(status: 0, output: try expected(host), errors: ""))
  }

  @Test(.enabled(if: Programs.installed("fish") != nil, "takes fish(1)"))
  func fishTakesThem() throws {
    let host = try TestHost()
    let outcome = try script(
      host, try #require(Programs.installed("fish")),
      #"$CREDCTL env --format fish | source; "# + Self.printing, environment: Self.before)
    expect(outcome, equals: TestHost.Outcome(status: 0, output: try expected(host), errors: ""))
  }

  @Test
  func failureLeavesTheShellAsItWas() throws {
    let host = try TestHost()
    let outcome = try script(
      host, "/bin/sh", #"eval "$("$CREDCTL" env --profile missing)"; "# + Self.printing,
      environment: ["KEPT": "1", "AWS_PROFILE": "other"])
    expect(outcome.output, equals: "AWS_PROFILE=other\nKEPT=1\n")
    expect(outcome.errors.hasPrefix("credctl: "))
    expect(outcome.errors.split(separator: "\n").count, equals: 1)
  }

  @Test(arguments: ["sh", "bash"])
  func aScriptDoesNotGoOnAfterAFailure(_ name: String) throws { try expectToStop(name) }

  @Test(.enabled(if: Programs.installed("zsh") != nil, "takes zsh"))
  func aScriptOfZshDoesNotGoOnAfterAFailure() throws { try expectToStop("zsh") }

  @Test(.enabled(if: Programs.installed("fish") != nil, "takes fish"))
  func aScriptOfFishDoesNotGoOnAfterAFailure() throws { try expectToStop("fish") }

  private func expectToStop(_ name: String) throws {
    let shell = try #require(Programs.installed(name))
    let host = try TestHost()
    for options in ["--profile missing", "--bogus", "--min-ttl x"] {
      let text =
        name == "fish"
        ? "$CREDCTL env --format fish \(options) | source; and echo went on"
        : #"eval "$("$CREDCTL" env "# + options + #")" && echo went on"#
      let outcome = try script(host, shell, text)
      expect(outcome.output.isEmpty, "\(options): \(outcome)")
      expect(outcome.status != 0, "\(options)")
      expect(outcome.errors.hasPrefix("credctl: "))
    }
  }

  @Test
  func theUsersRegionStays() throws {
    let host = try TestHost()
    let printing = #"eval "$("$CREDCTL" env)" && echo "$AWS_REGION $AWS_DEFAULT_REGION""#
    for (environment, regions) in [
      ([:], "us-east-1 us-east-1"), (["AWS_REGION": "eu-west-1"], "eu-west-1 eu-west-1"),
      (["AWS_DEFAULT_REGION": "eu-west-1", "AWS_REGION": ""], "eu-west-1 eu-west-1"),
      (["AWS_REGION": "a", "AWS_DEFAULT_REGION": "b"], "a b"),
    ] {
      let outcome = try script(host, "/bin/sh", printing, environment: environment)
      expect(outcome.output, equals: regions + "\n")
    }
  }

  @Test
  func dotenvAndJSONSayTheSame() throws {
    let host = try TestHost()
    let dotenv = try host.credctl("env", "--format", "dotenv")
    let json = try host.credctl("env", "--format", "json")
    expect(dotenv.status == 0 && json.status == 0)
    expect(dotenv.errors + json.errors, equals: "")
    let object = try JSON(json.output)
    let lines = dotenv.output.split(separator: "\n")
    expect(object.keys.count == 6 && lines.count == 6)
    for line in lines {
      let parts = line.split(separator: "=", maxSplits: 1).map(String.init)
      expect(object[parts[0]]?.text, equals: parts[1])
    }
    expect(object["AWS_SESSION_TOKEN"], equals: try host.ask()["SessionToken"])
  }

  @Test
  func shortLivedOnesAreRefused() throws {
    let host = try TestHost(sandbox: ["--credential-lifetime", "600"])
    for format in ["sh", "fish", "dotenv", "json"] {
      let outcome = try host.credctl("env", "--format", format)
      expect(outcome.status, equals: 64)
      expect(outcome.output, equals: (["sh", "fish"].contains(format) ? "false\n" : ""))
      expect(outcome.errors.contains("--min-ttl"))
    }
    expect(try host.credctl("env", "--min-ttl", "300").status, equals: 0)
  }

  @Test
  func unknownFormatIsRefusedBeforeAnythingIsAsked() throws {
    let host = try TestHost()
    let outcome = try host.credctl("env", "--format", "csh")
    expect(outcome.status, equals: 64)
    expect(outcome.output, equals: "false\n")
    expect(outcome.errors.contains("csh"))
    expect(try host.sandbox.callbacks, equals: 0)
  }
}
