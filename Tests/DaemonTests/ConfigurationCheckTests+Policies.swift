import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// The files of policies, as `credd --check-config` and the daemon see them.
extension ConfigurationCheckTests {
  private static let policy =
    #"{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"a:b","Resource":"*"}}"#

  private func text(_ policy: String) -> String {
    """
    [profile narrow]
    source_profile = work
    policy_file = \(policy)
    [profile work]
    identity_pool_id = us-east-1:11111111-2222-3333-4444-555555555555
    allow_users = *
    vend_credentials = no
    """
  }

  @Test
  func aPolicyOfNoUseIsNamedOnceAndNothingStarts() throws {
    let policy = try file("policy.json", Self.policy, mode: 0o644)
    expect(complaints(try check(text(policy)).process), equals: [])
    try FileManager.default.setAttributes([.posixPermissions: 0o664], ofItemAtPath: policy)
    let (process, path) = try check(text(policy))
    expect(process.status, equals: EX_CONFIG)
    let complaint =
      "\(path):3: policy_file: '\(policy)' is not safe: others may write to '\(policy)'; 'chmod go-w' it"
    expect(complaints(process).map(String.init), equals: [complaint])
    let socket = try Stage.current().newFile("s")
    let daemon = try ChildProcess([Programs.credd, "--config", path, "--socket", socket])
    expect(try daemon.wait(), equals: EX_CONFIG)
    expect(daemon.errors.contains(complaint), "\(daemon.errors)")
    expect(!FileManager.default.fileExists(atPath: socket))
    // One that is not there is named once, too.
    let (missing, _) = try check(text("/nonexistent/p.json"))
    expect(missing.status, equals: EX_CONFIG)
    expect(complaints(missing).count, equals: 1, "\(missing.errors)")
  }

  @Test
  func aPolicyThatSystemdShowsToTheServiceAloneIsNotChecked() throws {
    let path = try file("credd.conf", text("${CREDENTIALS_DIRECTORY}/policy"))
    let process = try check(file: path)
    expect(process.status, equals: 0, "\(process.errors)")
    let folder = "/run/credentials/credd.service"
    expect(
      process.errors.contains(
        "not checked: profile narrow: policy_file: \(folder)/policy exists only while credd.service runs"
      ), "\(process.errors)")
    // A process of the unit that sees the folder reads it.
    let given = try Stage.current().newFile("credentials")
    try FileManager.default.createDirectory(atPath: given, withIntermediateDirectories: true)
    try Data("{".utf8).write(to: URL(filePath: given + "/policy"))
    let daemon = try ChildProcess(
      [Programs.credd, "--config", path, "--socket", try Stage.current().newFile("s")],
      environment: ["CREDENTIALS_DIRECTORY": given])
    expect(try daemon.wait(), equals: EX_CONFIG)
    expect(daemon.errors.contains("policy_file: '\(given)/policy' is not JSON"), "\(daemon.errors)")
  }

  /// A person may see less than the daemon.
  @Test(.enabled(if: OtherUser.canBe, "takes root and setpriv"))
  func aPolicyThatAPersonMayNotReadIsNotChecked() throws {
    let policy = try file("policy.json", "no policy", mode: 0o600)
    let path = try file("credd.conf", text(policy), mode: 0o644)
    let credd = try Stage.current().executable(Programs.credd)
    let process = try ChildProcess(
      try OtherUser.games.prefix + [credd, "--config", path, "--check-config"])
    try process.wait()
    expect(process.status, equals: 0, "\(process.errors)")
    expect(
      process.errors.contains(
        "not checked: profile narrow: policy_file: \(policy): Permission denied for this user"),
      "\(process.errors)")
  }

  @Test(
    .enabled(if: geteuid() == 0 && PythonScript.canRun, "takes root and python3"),
    arguments: [
      (61234, 0o600, nil), (0, 0o644, nil),
      (0, 0o600, "cannot be read by the user 'credd': 'chown root:credd' and 'chmod 0640' it"),
      (4242, 0o644, "belongs to uid 4242, not to root or credd's user"),
    ] as [(UInt32, Int, String?)])
  func rootChecksAsTheDaemonsUser(_ owner: UInt32, _ mode: Int, _ fault: String?) throws {
    let policy = try file("policy.json", Self.policy, mode: mode)
    expect(unsafe chown(policy, owner, owner), equals: 0)
    let path = try file("credd.conf", text(policy), mode: 0o644)
    let process = try checkOnAHostWithTheUser(path)
    expect(process.status, equals: fault == nil ? 0 : EX_CONFIG, "\(process.errors)")
    expect(process.errors.contains("not checked"), equals: false, "\(process.errors)")
    let lines = process.errors.split(separator: "\n")
    expect(lines.count, equals: fault == nil ? 0 : 1, "\(process.errors)")
    if let fault { expect(lines.first?.contains(fault) ?? false, "\(process.errors)") }
  }
}
