import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// Backends that are commands.
@Suite(.onStage)
struct ExecBackendTests {
  /// A host whose backend is a script.
  ///
  /// - Parameter body: gets the sandbox's port as `$1` and the query as `$query`.
  private func host(_ body: String, _ keys: String = "") throws -> TestHost {
    let stage = try Stage.current()
    let text = stage.newFile("token")
    try Data("#!/bin/bash\nread -r query\n\(body)\n".utf8).write(to: URL(filePath: text))
    let script = try stage.executable(text)
    return try TestHost { sandbox in
      let port = sandbox.url.split(separator: ":").last ?? ""
      return """
        [backend corp]
        type = exec
        command = \(script) \(port) "two words"
        \(keys)

        """ + Configuration.profile("default", endpoint: sandbox.url)
    }
  }

  /// Asks the sandbox's own backend, and passes on what it says.
  private static let asking = #"""
    exec 3<>/dev/tcp/127.0.0.1/$1
    printf 'POST /token HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s' \
      "${#query}" "$query" >&3
    sed '1,/^\r$/d' <&3
    """#

  @Test
  func scriptAnswersForTheUser() throws {
    let seen = try Stage.current().newFile("seen")
    let host = try host(
      #"printf '%s\n' "$#" "$2" "$LDAP_HOST" "${HOME-none}" "$PWD" "$query" >\#(seen)"# + "\n"
        + Self.asking, "environment.LDAP_HOST = ldap.example.com")
    expect(try host.ask()["AccessKeyId"] != nil)
    let lines = try String(contentsOfFile: seen, encoding: .utf8).split(separator: "\n")
    // Its words, its variables and nothing of credd's own.
    expect(lines.dropLast(), equals: ["2", "two words", "ldap.example.com", "none", "/"])
    expect(try JSON(String(lines.last ?? ""))["DeveloperUserIdentifier"]?.text, equals: "alice")
    expect(try host.sandbox.callbacks, equals: 1)
  }

  @Test(arguments: [
    ("exit 77", Int32(77), "refuses this user"),
    ("exit 67", 77, "does not know this user"),
    ("exit 75", 75, "not available"),
    ("exit 1", 75, "its command failed"),
    ("exit 78", 69, "cannot be run as configured"),
    ("kill -SEGV $$", 75, "was killed"),
    ("echo the directory is closed >&2; exit 77", 77, "the directory is closed"),
    ("echo nonsense", 75, "cannot be used"),
    ("yes", 75, "its limit"),
    ("sleep 60", 75, "did not answer in time"),
  ])
  func howItEndsIsSaid(_ body: String, _ status: Int32, _ words: String) throws {
    let host = try host(body, "timeout = \(body.hasPrefix("sleep") ? "500ms" : "60s")")
    let outcome = try host.get("--wait", "1")
    expect(outcome.output.isEmpty)
    expect(outcome.status, equals: status, "\(outcome.errors)")
    expect(outcome.errors.contains(words), "\(outcome.errors)")
    expect(outcome.errors.split(separator: "\n").count, equals: 1)
  }

  /// As credd.service has them with the example for allow_executables.
  @Test(.enabled(if: OtherUser.canBe, "takes root, which can give capabilities"))
  func aCommandHasNoCapabilityOfTheDaemonsAndGainsNone() throws {
    let stage = try Stage.current()
    let text = stage.newFile("token")
    let seen = stage.newFile("seen")
    try Data("#!/bin/sh\ncat /proc/self/status >\(seen)\nexit 77\n".utf8)
      .write(to: URL(filePath: text))
    try Data().write(to: URL(filePath: seen))
    unsafe chmod(seen, 0o666)
    let (script, sandbox, file, folder) = (
      try stage.executable(text), try Sandbox(), stage.newFile("credd.conf"), stage.newFile("run")
    )
    try Data(
      ("[backend corp]\ntype = exec\ncommand = \(script)\n"
        + Configuration.profile("default", endpoint: sandbox.url)).utf8
    ).write(to: URL(filePath: file))
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    unsafe chmod(folder, 0o777)
    let daemon = try ChildProcess([
      try #require(Programs.installed("setpriv")), "--reuid=games", "--regid=games",
      "--clear-groups", "--inh-caps=+sys_ptrace", "--ambient-caps=+sys_ptrace", "--",
      try stage.executable(Programs.credd), "--config", file, "--socket", folder + "/s",
    ])
    try Deadline.usual.wait(for: "credd") {
      (try? StreamSocket(unixPath: folder + "/s")) != nil || daemon.status != nil
    }
    func field(_ name: String, _ status: String) -> String? {
      status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        .map { $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces) }
    }
    let own = try ProcessFile.text(daemon.pid, "status")
    expect(field("CapAmb", own), equals: "0000000000080000")
    let caller = try StreamSocket(unixPath: folder + "/s")
    try caller.send("{}\n")
    expect(try caller.reply().errorCode, equals: "BackendRejected")
    let status = try String(contentsOfFile: seen, encoding: .utf8)
    for set in ["CapAmb", "CapPrm", "CapEff"] {
      expect(field(set, status), equals: "0000000000000000", "\(set)")
    }
    expect(field("NoNewPrivs", status), equals: "1")
    // The daemon has what it had.
    expect(field("CapAmb", try ProcessFile.text(daemon.pid, "status")), equals: "0000000000080000")
  }

  @Test
  func commandThatIsNotThereIsNamed() throws {
    let host = try TestHost { sandbox in
      "[backend corp]\ntype = exec\ncommand = /nonexistent/token\n"
        + Configuration.profile("default", endpoint: sandbox.url)
    }
    let outcome = try host.get()
    expect(outcome.status, equals: 69)
    expect(outcome.errors.contains("check command"))
  }
}
