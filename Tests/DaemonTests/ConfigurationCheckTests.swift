import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// `credd --check-config`.
@Suite(.onStage)
struct ConfigurationCheckTests {
  func check(_ text: String) throws -> (process: ChildProcess, file: String) {
    let file = try Stage.current().newFile("credd.conf")
    try Data(text.utf8).write(to: URL(filePath: file))
    return (try check(file: file), file)
  }

  func check(file: String, _ environment: [String: String] = [:]) throws -> ChildProcess {
    let process = try ChildProcess(
      [Programs.credd, "--config", file, "--check-config"], environment: environment)
    try process.wait()
    return process
  }

  /// All but whether root may become the user `credd`.
  func complaints(_ process: ChildProcess) -> [Substring] {
    process.errors.split(separator: "\n").filter { !$0.hasPrefix("not checked: whether the user") }
  }

  @Test
  func aGoodFileIsCountedInOneLine() throws {
    let sandbox = try Sandbox()
    let (process, path) = try check(Configuration.usual(sandbox) + "\nallow_users = *\n")
    expect(process.status, equals: 0)
    expect(process.output, equals: "\(path): 1 profile, 1 backend, no errors\n")
    expect(complaints(process).isEmpty, "\(process.errors)")
  }

  @Test
  func anEmptyFileGivesNothingAndItsCheckSaysSo() throws {
    let (process, path) = try check("; nothing\n")
    expect(process.status, equals: 0)
    expect(
      process.output,
      equals: "\(path): no profile, so nothing can be asked for; no errors, 1 warning\n")
  }

  @Test
  func aFragmentThatIsNotReadIsAWarning() throws {
    let sandbox = try Sandbox()
    let path = try file("credd.conf", Configuration.usual(sandbox) + "\nallow_users = *\n")
    let folder = path + ".d"
    for name in ["corp.conf.txt", "folder/inner"] {
      let file = URL(filePath: "\(folder)/\(name)")
      try FileManager.default.createDirectory(
        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data("[profile corp]\n".utf8).write(to: file)
    }
    let process = try check(file: path)
    expect(
      complaints(process),
      equals: ["warning: \(folder)/corp.conf.txt is not read: its name does not end in '.conf'"])
    expect(process.status, equals: 0)
  }

  /// The example names files that this host does not have; nothing else is wrong with it.
  @Test(arguments: [nil, "/run/credentials/credd"])
  func exampleNamesOnlyWhatIsNotHere(_ credentials: String?) throws {
    let example = Repository.root.appending(path: "contrib/credd.conf.example").path
    let process = try check(
      file: example, credentials.map { ["CREDENTIALS_DIRECTORY": $0] } ?? [:])
    for line in complaints(process) {
      let isExpected = [
        "No such file", "the host has no", "while credd.service runs", "admits every",
        "can read this value", "exit_on_idle: whether systemd passes [socket ",
      ]
      .contains { line.contains($0) }
      expect(isExpected, "\(line)")
    }
    // systemd sets CREDENTIALS_DIRECTORY for the service alone, not for a check at the prompt.
    expect(process.errors.contains("not checked: backend corp: bearer_token_file: "))
  }

  @Test
  func profileForEverybodyIsAWarningUnlessItIsMeant() throws {
    let sandbox = try Sandbox()
    let (open, file) = try check(Configuration.usual(sandbox))
    expect(open.status, equals: 0)
    expect(open.output, equals: "\(file): 1 profile, 1 backend, no errors, 1 warning\n")
    expect(open.errors.contains("warning: profile 'default' admits every user of this host"))
    expect(open.errors.contains("\(file):"))
    let (meant, _) = try check(Configuration.usual(sandbox) + "\nallow_users = * bob\n")
    expect(!meant.errors.contains("admits every user of this host"))
    expect(
      meant.errors.contains("warning: allow_users: '*' admits every user, so the other names"))
  }

  /// Nobody else can connect to it.
  @Test
  func aPersonsOwnConfigurationAdmitsNobodyElse() throws {
    let (sandbox, home) = (try Sandbox(), try Stage.current().newFile("home"))
    try FileManager.default.createDirectory(
      atPath: home + "/.config/credd", withIntermediateDirectories: true)
    let file = home + "/.config/credd/credd.conf"
    try Data(Configuration.usual(sandbox).utf8).write(to: URL(filePath: file))
    let socket = ["--socket", home + "/credd/credd.sock"]
    for (environment, options, isOwn) in [
      (["HOME": home], [], true), (["XDG_CONFIG_HOME": home + "/.config"], [], true),
      (["XDG_RUNTIME_DIR": home], socket, true), (["XDG_RUNTIME_DIR": home], [], false),
      ([:], socket, false),
    ] as [([String: String], [String], Bool)] {
      let process = try ChildProcess(
        [Programs.credd, "--config", file, "--check-config"] + options, environment: environment)
      expect(try process.wait(), equals: 0)
      expect(process.errors.contains("admits every user of this host"), equals: !isOwn)
    }
  }

  func file(_ name: String, _ text: String, mode: Int = 0o600) throws -> String {
    let path = try Stage.current().newFile(name)
    try Data(text.utf8).write(to: URL(filePath: path))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    return path
  }

  @Test(.enabled(if: OtherUser.isRoot, "takes root, to whom credd says more"))
  func whatTheConfigurationNamesIsOpened() throws {
    let token = try file("token", "s3cret", mode: 0o644)
    let empty = try file("empty", "")
    let noPEM = try file("ca.pem", "nothing")
    let script = try file("script", "#!/bin/sh\n", mode: 0o644)
    let profile = """
      identity_pool_id = us-east-1:11111111-2222-3333-4444-555555555555
      developer_provider = login.example.app
      allow_users = root no-such-user
      allow_groups = no-such-group
      """
    let (process, path) = try check(
      """
      [backend one]
      type = http
      url = https://auth.example.com/token
      bearer_token_file = \(token)
      ca_file = \(noPEM)
      client_certificate = /nonexistent/host.pem
      client_key = \(empty)
      unix_socket = /nonexistent/socket
      [backend two]
      type = exec
      command = \(script) one
      [backend three]
      type = exec
      command = /nonexistent/command
      [profile a]
      \(profile)
      backend = one
      [profile b]
      \(profile)
      backend = two
      web_identity_token_file = /tmp
      web_identity_provider = accounts.google.com
      [profile c]
      \(profile)
      backend = three
      allow_executables = /nonexistent/program /usr/*/credctl
      """)
    expect(process.status, equals: EX_CONFIG)
    let expected = [
      "4: warning: bearer_token_file: every user of this host can read '\(token)'",
      "5: ca_file: '\(noPEM)' has no '-----BEGIN",
      "6: client_certificate: cannot open '/nonexistent/host.pem': No such file or directory",
      "7: client_key: '\(empty)' is empty",
      "8: warning: unix_socket: no server listens at '/nonexistent/socket' now",
      "11: command: '\(script)' cannot be run: Permission denied",
      "14: command: cannot open '/nonexistent/command': No such file or directory",
      "18: warning: allow_users: the host has no user 'no-such-user'",
      "19: warning: allow_groups: the host has no group 'no-such-group'",
      "27: web_identity_token_file: '/tmp' is a directory",
      "35: warning: allow_executables: '/nonexistent/program' is not there",
    ]
    for line in expected {
      expect(process.errors.contains("\(path):\(line)"), "\(line) in \(process.errors)")
    }
  }

  /// The kernel would say of it that there is no such file.
  @Test
  func aScriptWithCarriageReturnsIsAnError() throws {
    let script = try file("script", "#!/bin/sh\r\necho\r\n", mode: 0o755)
    let (process, path) = try check("[backend one]\ntype = exec\ncommand = \(script)\n")
    expect(process.status, equals: EX_CONFIG)
    let told =
      "\(path):3: command: '\(script)' cannot be run: its '#!' line ends in a carriage return"
    expect(process.errors.contains(told), "\(process.errors)")
  }

  @Test
  func filesAreOpenedBesideErrorsAndAllIsToldInTheOrderOfLines() throws {
    let (process, path) = try check(
      """
      [backend zero]
      type = http
      url = https://auth.example.com/token
      ca_file = /nonexistent/zero.pem
      [backend one]
      type = http
      url = https://auth.example.com/token
      tiemout = 5s
      ca_file = /nonexistent/one.pem
      [profile default]
      identity_pool_id = us-east-1:11111111-2222-3333-4444-555555555555
      developer_provider = login.example.app
      backend = zero
      allow_users = no-such-user
      [profile other]
      developer_provider = login.example.app
      backend = one
      """)
    expect(process.status, equals: EX_CONFIG)
    let lines = complaints(process).compactMap { line in
      line.hasPrefix("\(path):") ? Int(line.dropFirst(path.count + 1).prefix { $0 != ":" }) : nil
    }
    // The warning comes first: what decides is said last.
    expect(lines, equals: [14, 4, 8, 9, 15], "\(process.errors)")
    expect(process.errors.contains("9: ca_file: cannot open '/nonexistent/one.pem'"))
  }

  /// What a process of the unit knows of the unit's credentials.
  enum Credentials: String, CaseIterable {
    case visible
    /// In `ExecReload=` of a unit with a mount namespace, by systemd 252.
    case closed
    /// There, by systemd 257.
    case unnamed
  }

  /// systemd shows the credentials to `ExecStart=` alone.
  @Test(arguments: Credentials.allCases)
  func whatOnlyTheDaemonSeesIsNotCheckedInAReload(_ credentials: Credentials) throws {
    let isVisible = credentials == .visible
    let given = try Stage.current().newFile("credentials")
    if isVisible {
      try FileManager.default.createDirectory(atPath: given, withIntermediateDirectories: true)
    }
    let sandbox = try Sandbox()
    let text = Configuration.usual(
      sandbox, backend: "bearer_token_file = ${CREDENTIALS_DIRECTORY}/corp-token")
    let path = try file("credd.conf", text)
    let process = try ChildProcess(
      [
        "/bin/sh", "-c", "SYSTEMD_EXEC_PID=$$ exec \"$@\"", "sh", Programs.credd, "--config", path,
        "--check-config",
      ], environment: credentials == .unnamed ? [:] : ["CREDENTIALS_DIRECTORY": given])
    try process.wait()
    let folder = credentials == .unnamed ? "/run/credentials/credd.service" : given
    let token = "\(folder)/corp-token"
    let place = "not checked: backend corp: bearer_token_file: \(token): systemd shows it to"
    expect(process.errors.contains(place), equals: !isVisible, "\(process.errors)")
    expect(process.status, equals: isVisible ? EX_CONFIG : 0)
    // A credential that the unit does not load is an error, and said last.
    let last = process.errors.split(separator: "\n").last ?? ""
    expect(last.contains("cannot open '\(token)'"), equals: isVisible, "\(process.errors)")
  }

  /// A file system whose server never answers, for the program that follows.
  private static let hangingFiles = """
    import ctypes, os, subprocess, sys
    libc = ctypes.CDLL(None, use_errno=True)
    server = os.open("/dev/fuse", os.O_RDWR)
    assert libc.unshare(0x20000) == 0
    assert libc.mount(None, b"/", None, 0x44000, None) == 0
    options = b"fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % server
    assert libc.mount(b"none", sys.argv[1].encode(), b"fuse", 0, options) == 0
    sys.exit(subprocess.run(sys.argv[2:]).returncode)
    """
  private static let hasHangingFiles =
    geteuid() == 0 && PythonScript.canRun
    && FileManager.default.isWritableFile(atPath: "/dev/fuse")

  @Test(.enabled(if: Self.hasHangingFiles, "takes root, python3 and FUSE"))
  func aFileServerThatIsAwayIsNamedAndTheOtherChecksAreMade() throws {
    let (folder, text) = (try Stage.current().newFile("away"), try Stage.current().newFile("c"))
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let script = try file("hang.py", Self.hangingFiles)
    try Data(
      """
      [backend corp]
      type = http
      url = https://auth.example.com/token
      bearer_token_file = \(folder)/token
      ca_file = \(folder)/ca.pem
      client_certificate = /nonexistent/host.pem
      [backend script]
      type = exec
      command = \(folder)/program
      [profile narrow]
      source_profile = work
      policy_file = \(folder)/policy
      [profile work]
      identity_pool_id = us-east-1:11111111-2222-3333-4444-555555555555
      """.utf8
    ).write(to: URL(filePath: text))
    let process = try ChildProcess(
      [
        try #require(Programs.installed("python3")), script, folder, Programs.credd, "--config",
        text, "--check-config",
      ])
    try process.wait()
    for key in ["corp: bearer_token_file: '\(folder)/token'", "corp: ca_file", "script: command"] {
      expect(process.errors.contains("not checked: backend \(key)"), "\(process.errors)")
    }
    for file in ["ca.pem", "policy"] {
      expect(
        process.errors.contains("'\(folder)/\(file)' does not answer: is its file server away?"))
    }
    // The next check is made, and its error decides.
    expect(process.errors.contains("6: client_certificate: cannot open"))
    expect(process.status, equals: EX_CONFIG)
  }

  /// A user database that never answers, for the program that follows: nobody writes to the pipe that
  /// stands in the place of its file.
  private static let hangingUsers = """
    import ctypes, os, subprocess, sys
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.unshare(0x20000) == 0
    assert libc.mount(None, b"/", None, 0x44000, None) == 0
    pipe, target = sys.argv[1].encode(), sys.argv[2].encode()
    os.mkfifo(pipe)
    with open("/etc/passwd") as old, open(pipe + b".passwd", "w") as new:
        new.write("credd:x:61234:61234::/:/bin/false\\n" + old.read())
    assert libc.mount(pipe + b".passwd", b"/etc/passwd", None, 0x1000, None) == 0
    assert libc.mount(pipe, target, None, 0x1000, None) == 0
    sys.exit(subprocess.run(sys.argv[3:]).returncode)
    """

  @Test(
    .enabled(if: geteuid() == 0 && PythonScript.canRun, "takes root and python3"),
    arguments: ["/etc/passwd", "/etc/group"])
  func aUserDatabaseThatIsAwayIsNamedAndTheOtherChecksAreMade(_ database: String) throws {
    let (pipe, text) = (try Stage.current().newFile("pipe"), try Stage.current().newFile("c"))
    let script = try file("hang.py", Self.hangingUsers)
    let names = (0..<400).map { "\($0 % 2 == 0 ? "user" : "group")\($0)" }
    let (users, groups) = (names.filter { $0.hasPrefix("u") }, names.filter { $0.hasPrefix("g") })
    try Data(
      """
      [backend corp]
      type = http
      url = https://auth.example.com/token
      client_certificate = /nonexistent/host.pem
      [profile work]
      identity_pool_id = us-east-1:00000000-0000-0000-0000-000000000000
      developer_provider = login.example.app
      backend = corp
      allow_users = \(users.joined(separator: " "))
      allow_groups = \(groups.joined(separator: " "))
      """.utf8
    ).write(to: URL(filePath: text))
    let process = try ChildProcess(
      [
        try #require(Programs.installed("python3")), script, pipe, database, Programs.credd,
        "--config", text, "--check-config",
      ])
    try process.wait()
    expect(
      process.errors.contains(
        "not checked: whether the user 'credd' may open the files: the user database does not answer"
      ), "\(process.errors)")
    let first =
      database == "/etc/passwd" ? "allow_users: user 'user0'" : "allow_groups: group 'group1'"
    expect(process.errors.contains("\(first): the user database does not answer"))
    let last =
      database == "/etc/passwd" ? "allow_users: user 'user398'" : "allow_groups: group 'group399'"
    expect(process.errors.contains("\(last): the user database was not asked"))
    // The other checks are made, and their error decides.
    expect(process.errors.contains("4: client_certificate: cannot open"), "\(process.errors)")
    expect(process.status, equals: EX_CONFIG)
  }

  @Test
  func aPipeIsNotReadByACheck() throws {
    let sandbox = try Sandbox()
    let pipe = try Stage.current().newFile("pipe")
    expect(unsafe mkfifo(pipe, 0o600), equals: 0)
    let (token, _) = try check(
      Configuration.usual(sandbox, backend: "bearer_token_file = \(pipe)"))
    expect(token.status, equals: 0)
    expect(
      token.errors.contains(
        "not checked: backend corp: bearer_token_file: '\(pipe)' is no regular file"))
    let (authorities, _) = try check(Configuration.usual(sandbox, backend: "ca_file = \(pipe)"))
    expect(authorities.status, equals: EX_CONFIG)
    expect(authorities.errors.contains("ca_file: '\(pipe)' is no regular file"))
  }

  @Test
  func roleOfAnotherPartitionIsAnError() throws {
    let sandbox = try Sandbox()
    let (process, _) = try check(
      Configuration.usual(sandbox) + "\nrole_arn = arn:aws-eusc:iam::123456789012:role/r\n")
    expect(process.status, equals: EX_CONFIG)
    expect(
      process.errors.contains("is of partition 'aws-eusc', and the pool's region 'us-east-1'"))
  }

  @Test
  func allErrorsAreShownAtOnceWithTheirLines() throws {
    let (process, file) = try check(
      """
      [daemon]
      max_conections = 5
      max_connections_per_user = many
      [backend corp]
      type = htttp
      [profile work]
      identity_pool_id = nonsense
      developer_provider = login.example.app
      backend = corpse
      backend = corp
      [nothing]
      stray
      """)
    expect(process.status, equals: EX_CONFIG)
    expect(process.output.isEmpty)
    let lines = complaints(process)
    let prefix = "\(file):"
    expect(lines.allSatisfy { $0.hasPrefix(prefix) }, "\(process.errors)")
    func message(_ line: Int) -> Substring {
      lines.first { $0.hasPrefix("\(prefix)\(line): ") } ?? ""
    }
    expect(message(2).contains("max_connections"))
    expect(message(3).contains("max_connections_per_user"))
    expect(message(5).contains("'http'"))
    expect(message(7).contains("identity_pool_id"))
    expect(message(10).contains("backend"))
    expect(!message(11).isEmpty)
    expect(!message(12).isEmpty)
  }

  @Test
  func fragmentsAreReadToo() throws {
    let sandbox = try Sandbox()
    let file = try Stage.current().newFile("credd.conf")
    try FileManager.default.createDirectory(
      atPath: file + ".d", withIntermediateDirectories: true)
    try Data(Configuration.usual(sandbox).utf8).write(to: URL(filePath: file))
    try Data("[profile other]\nidentity_pool = x\n".utf8)
      .write(to: URL(filePath: file + ".d/10-other.conf"))
    let process = try check(file: file)
    expect(process.status, equals: EX_CONFIG)
    expect(process.errors.contains("\(file).d/10-other.conf:2: "))
    expect(process.errors.contains("identity_pool_id"))
  }

  @Test
  func missingFileIsNamed() throws {
    let file = try Stage.current().newFile("credd.conf")
    let process = try check(file: file)
    expect(process.status, equals: EX_CONFIG)
    expect(process.errors.contains(file))
    expect(process.errors.split(separator: "\n").count, equals: 1)
  }

  @Test
  func daemonDoesNotStartWithAWrongFile() throws {
    let (_, file) = try check("[profile work]\n")
    let path = try Stage.current().newFile("s")
    let daemon = try ChildProcess([Programs.credd, "--config", file, "--socket", path])
    expect(try daemon.wait(), equals: EX_CONFIG)
    expect(daemon.errors.contains("\(file):1: "))
    expect(!FileManager.default.fileExists(atPath: path))
  }
}
