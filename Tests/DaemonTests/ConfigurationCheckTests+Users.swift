import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// `credd --check-config` on a host with the user `credd`, and by persons.
extension ConfigurationCheckTests {
  static let canHaveTheUser = geteuid() == 0 && PythonScript.canRun

  /// A host with an /etc of its own: the user `credd`, another name of games, and the file that the host's
  /// daemon reads.
  private static let withUser = """
    import ctypes, os, shutil, subprocess, sys
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.unshare(0x20000) == 0
    assert libc.mount(None, b"/", None, 0x44000, None) == 0
    etc, configuration = sys.argv[1:3]
    os.makedirs(etc + "/credd")
    os.mkdir(etc + "/credd/closed", 0o700)
    os.symlink("closed", etc + "/credd/link")
    shutil.copy("/etc/group", etc)
    with open(etc + "/nsswitch.conf", "w") as out: out.write("passwd: files\\ngroup: files\\n")
    with open("/etc/passwd") as old, open(etc + "/passwd", "w") as new:
        new.write("credd:x:61234:61234::/:/bin/false\\n")
        new.writelines(line for line in old if not line.startswith("credd:"))
        new.write("gamer:x:5:60::/:/bin/false\\n61235:x:61236:60::/:/bin/false\\n")
    if configuration:
        shutil.copy(configuration, etc + "/credd/credd.conf")
        shutil.copymode(configuration, etc + "/credd/credd.conf")
    assert libc.mount(etc.encode(), b"/etc", None, 0x1000, None) == 0
    sys.exit(subprocess.run(sys.argv[3:]).returncode)
    """

  /// - Parameters:
  ///   - path: the file to check; as the host's own where `isHosts`.
  ///   - prefix: words before the command.
  func checkOnAHostWithTheUser(
    _ path: String, isHosts: Bool = false, _ prefix: [String] = []
  ) throws -> ChildProcess {
    let (etc, script) = (try Stage.current().newFile("etc"), try file("user.py", Self.withUser))
    let process = try ChildProcess(
      [try #require(Programs.installed("python3")), script, etc, isHosts ? path : ""] + prefix
        + [Programs.credd] + (isHosts ? [] : ["--config", path]) + ["--check-config"])
    try process.wait()
    return process
  }

  private func text(_ lines: String) -> String {
    """
    [backend corp]
    type = http
    url = https://auth.example.com/token
    \(lines)
    [profile work]
    identity_pool_id = us-east-1:11111111-2222-3333-4444-555555555555
    developer_provider = login.example.app
    backend = corp
    allow_users = games

    """
  }

  @Test(.enabled(if: Self.canHaveTheUser, "takes root and python3"))
  func rootIsToldWhatTheDaemonsUserCannotRead() throws {
    let (token, folder) = (try file("token", "s3cret"), try Stage.current().newFile("folder"))
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let path = try file(
      "credd.conf",
      text(
        """
        bearer_token_file = \(token)
        ca_file = \(folder)/ca.pem
        client_certificate = /etc/credd/closed/own.pem
        client_key = /etc/credd/link/own.key
        header_file.X-Api-Key = \(folder)/key
        """), mode: 0o644)
    let process = try checkOnAHostWithTheUser(path)
    expect(process.status, equals: EX_CONFIG)
    func move(_ path: String) -> String {
      "move the file to /etc/credd (root:credd 0640), or write LoadCredential=NAME:\(path) in "
        + "'systemctl edit credd', and ${CREDENTIALS_DIRECTORY}/NAME here"
    }
    // Only a folder of credd's own, and no link to another one, is opened.
    let open = "'chmod 0755' it, or 'chown root:credd' and 'chmod 0750' it"
    expect(
      complaints(process).map(String.init),
      equals: [
        "\(path):4: bearer_token_file: the user 'credd' cannot read \(token): \(move(token))",
        "\(path):5: ca_file: the user 'credd' cannot enter \(folder): move the file to a folder that this "
          + "user can enter",
        "\(path):6: client_certificate: the user 'credd' cannot enter /etc/credd/closed: \(open)",
        "\(path):7: client_key: the user 'credd' cannot enter /etc/credd/link: "
          + move("/etc/credd/link/own.key"),
        "\(path):8: header_file.X-Api-Key: the user 'credd' cannot enter \(folder): "
          + move("\(folder)/key"),
      ])
  }

  /// Another file than the host's may be a draft, as one that a program of the administrator wrote.
  @Test(.enabled(if: Self.canHaveTheUser, "takes root and python3"), arguments: [true, false])
  func aConfigurationThatTheDaemonsUserCannotReadIsNamed(_ isHosts: Bool) throws {
    let path = try file("credd.conf", text(""), mode: 0o600)
    let process = try checkOnAHostWithTheUser(path, isHosts: isHosts)
    let told =
      "the user 'credd' cannot read \(isHosts ? "/etc/credd/credd.conf" : path): 'chown root:credd' and "
      + "'chmod 0640' it"
    expect(complaints(process).map(String.init), equals: [isHosts ? told : "warning: " + told])
    expect(process.status, equals: isHosts ? EX_CONFIG : 0)
    expect(process.output.isEmpty, equals: isHosts)
  }

  /// Root of a container may lock memory without a limit, and may be unable to remove the limit, which then
  /// holds for the daemon's user: its libraries and its user database need memory, too.
  @Test(
    .enabled(
      if: Self.canHaveTheUser && OtherUser.canBe && Programs.installed("openssl") != nil,
      "takes root, python3, setpriv and openssl"))
  func aLimitOnLockedMemoryDoesNotEndTheChecksOfTheDaemonsUser() throws {
    let folder = try Stage.current().newFile("keys")
    let script = """
      set -eu; mkdir "$0"; cd "$0"
      for name in own other; do
        openssl ecparam -name prime256v1 -genkey -noout -out $name.key
        openssl req -x509 -new -key $name.key -subj /CN=$name -days 2 -out $name.pem
      done
      chmod 644 *.key
      """
    let made = try ChildProcess(["/bin/sh", "-c", script, folder])
    try #require(try made.wait() == 0, "\(made.errors)")
    let pair = "client_certificate = \(folder)/own.pem\nclient_key = \(folder)/other.key"
    let path = try file("credd.conf", text(pair), mode: 0o644)
    let limited = [
      try #require(Programs.installed("setpriv")), "--bounding-set=-sys_resource",
      "--inh-caps=-sys_resource", "--", "/bin/bash", "-c", "ulimit -l 8192; exec \"$@\"", "bash",
    ]
    let process = try checkOnAHostWithTheUser(path, limited)
    expect(!process.errors.contains("not checked"), "\(process.errors)")
    expect(process.errors.contains("does not belong to the certificate in"), "\(process.errors)")
  }

  @Test(.enabled(if: Self.canHaveTheUser, "takes root and python3"))
  func namesThatMeanSomebodyElseAreWarnedOf() throws {
    let names = """
      allow_groups = gmaes
      impersonate = gamer
      keep_warm = gmaes
      [daemon]
      metrics_users = 61235
      """
    let path = try file("credd.conf", text("") + names, mode: 0o644)
    let process = try checkOnAHostWithTheUser(path)
    let expected = [
      "10: warning: allow_groups: the host has no group 'gmaes'; did you mean 'games'?",
      "11: warning: impersonate: 'gamer' is another name of 'games', uid 5, and credd knows a user by the "
        + "uid's first name alone: write 'games'",
      "12: warning: keep_warm: the host has no user 'gmaes'; did you mean 'games'?",
      "14: warning: metrics_users: 61235 is taken as a uid, and the user that has this as its name has the "
        + "uid 61236: if that is meant, write 61236",
    ]
    expect(complaints(process).map(String.init), equals: expected.map { "\(path):\($0)" })
    expect(process.status, equals: 0)
  }

  @Test(.enabled(if: OtherUser.canBe, "takes root and setpriv"))
  func aPersonIsToldWhichFileWasReadAndWhoMayReadIt() throws {
    let (home, credd) = (
      try Stage.current().newFile("home"), try Stage.current().executable(Programs.credd)
    )
    let own = home + "/.config/credd/credd.conf"
    func check(_ options: String...) throws -> ChildProcess {
      let process = try ChildProcess(
        OtherUser.games.prefix + [credd, "--check-config"] + options, environment: ["HOME": home])
      try process.wait()
      return process
    }
    let notice =
      "/etc/credd/credd.conf is the host's; your own credd reads \(own): check that by 'credd --config "
      + "\(own) --check-config'"
    expect(try !check().errors.contains("is the host's"))
    try FileManager.default.createDirectory(
      atPath: home + "/.config/credd", withIntermediateDirectories: true)
    try Data(text("").utf8).write(to: URL(filePath: own))
    expect(try check().errors.hasSuffix(notice + "\n"))
    let checked = try check("--config", own)
    expect(!checked.errors.contains(notice), "\(checked.errors)")
    expect(checked.output.hasPrefix("\(own): 1 profile, 1 backend, no errors"))
    let closed = try file("credd.conf", text(""), mode: 0o600)
    let refused = try check("--config", closed)
    expect(
      refused.errors,
      equals: "cannot read \(closed): Permission denied: run this check as root\n")
    expect(refused.status, equals: EX_CONFIG)
  }

  /// credd.service, whose user the administrator forgot.
  @Test(.enabled(if: OtherUser.canBe, "takes root and setpriv"))
  func aServiceThatCannotReadItsConfigurationSaysWhoMustBeLet() throws {
    let closed = try file("credd.conf", text(""), mode: 0o600)
    let credd = try Stage.current().executable(Programs.credd)
    let process = try ChildProcess(
      OtherUser.games.prefix + [
        "/bin/sh", "-c", "SYSTEMD_EXEC_PID=$$ exec \"$@\"", "sh", credd, "--config", closed,
      ], environment: ["USER": "games"])
    expect(try process.wait(), equals: EX_CONFIG)
    expect(
      process.errors,
      equals:
        "the user 'games' cannot read \(closed): 'chown root:games' and 'chmod 0640' it\n")
  }

  @Test
  func aSecondCreddSaysThatOneListensThere() throws {
    let host = try TestHost()
    let second = try ChildProcess(
      [Programs.credd, "--config", host.configurationPath, "--socket", host.socketPath])
    expect(try second.wait(), equals: EX_OSERR)
    expect(
      second.errors.contains(
        "cannot start: listen on \(host.socketPath): Address already in use: systemd or another credd "
          + "listens there: choose another path by --socket PATH"), "\(second.errors)")
    try host.ask()
  }
}
