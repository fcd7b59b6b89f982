import Foundation
import Testing
import TestSupport

@testable import DaemonHarness

/// `credd-sandbox --demo` shows credentials, and leaves nothing behind.
@Suite(.onStage)
struct DemoTests {
  /// Its temporary folder is made in the test's own.
  private func demo(
    _ options: [String] = [], under prefix: [String] = [], program: String = Programs.sandbox,
    path: String = Programs.folder
  ) throws -> ChildProcess {
    try ChildProcess(
      prefix + [program, "--demo"] + options,
      environment: ["TMPDIR": try Stage.current().folder, "PATH": path])
  }

  private func expectNothingLeft() throws {
    let files = try FileManager.default.contentsOfDirectory(atPath: Stage.current().folder)
    expect(!files.contains { $0.hasPrefix("credd-demo") })
  }

  private func expectCredentials(_ output: String) {
    expect(
      output.matches(of: /\$ credctl get --profile demo\n\{"AccessKeyId":"ASIA/).count, equals: 2)
    let credctl = Programs.credctl.contains(" ") ? "\"\(Programs.credctl)\"" : Programs.credctl
    expect(output.contains("credential_process = \(credctl) get --profile demo\n"))
    expect(output.contains(/first \d+\.\d ms, second \d+\.\d ms/))
    expect(SecretShapes.found(in: output), equals: [])
    // A terminal alone gets bold and dim text.
    expect(!output.contains("\u{1B}"))
  }

  @Test func showsCredentialsAndStopsEverything() throws {
    let demo = try demo()
    expect(try demo.wait(), equals: 0, "\(demo.errors)")
    expectCredentials(demo.output)
    expect(demo.errors, equals: "")
    try expectNothingLeft()
  }

  @Test func stopsEverythingWhenItsReaderLeaves() throws {
    let shell = try ChildProcess(
      ["/bin/sh", "-c", "'\(Programs.sandbox)' --demo | head -n 1"],
      environment: ["TMPDIR": try Stage.current().folder])
    expect(try shell.wait(), equals: 0, "\(shell.errors)")
    try expectNothingLeft()
  }

  @Test(.enabled(if: OtherUser.canBe, "takes root, which can be other users"))
  func worksAsAnOrdinaryUser() throws {
    let folder = try Stage.current().newFile("bin")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for program in [Programs.credd, Programs.credctl, Programs.sandbox] {
      let copy = try Stage.current().executable(program)
      let name = URL(filePath: program).lastPathComponent
      try FileManager.default.moveItem(atPath: copy, toPath: folder + "/" + name)
    }
    let demo = try ChildProcess(
      try OtherUser.daemon.prefix + [folder + "/credd-sandbox", "--demo"],
      environment: ["PATH": "/nowhere"])
    expect(try demo.wait(), equals: 0, "\(demo.errors)")
    expect(demo.output.contains(#"{"AccessKeyId":"ASIA"#))
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func aKeptOneServesUntilItIsInterrupted(_ signal: Int32) throws {
    let demo = try demo(["--keep"])
    func exported(_ name: String) -> String? {
      demo.output.split(separator: "\n").first { $0.hasPrefix("export \(name)=") }
        .map { $0.dropFirst("export \(name)=".count).prefix { $0 != " " } }.map(String.init)
    }
    try Deadline.usual.wait(for: "the last line") {
      try #require(demo.status == nil, "\(demo.errors)")
      return demo.output.contains("aws sts get-caller-identity --profile demo\n")
    }
    expectCredentials(demo.output)
    let socket = try #require(exported("CREDD_SOCKET"))
    let get = try ChildProcess([Programs.credctl, "get"], environment: ["CREDD_SOCKET": socket])
    expect(try get.wait() != 0, "the demonstration has a profile named demo alone")
    let named = try ChildProcess(
      [Programs.credctl, "get", "-p", "demo"], environment: ["CREDD_SOCKET": socket])
    expect(try named.wait(), equals: 0, "\(named.errors)")
    let tools = try String(
      contentsOfFile: #require(exported("AWS_CONFIG_FILE")), encoding: .utf8)
    expect(tools.contains("[profile demo]"))
    try expectCommandsWork(demo.output)
    demo.send(signal)
    expect(try demo.wait(), equals: 0, "\(demo.errors)")
    #expect(throws: CallFailed.self) { try StreamSocket(unixPath: socket) }
    try expectNothingLeft()
  }

  /// What was printed for another terminal works there as it stands. The AWS CLI is not everywhere: a
  /// function that signs a call by what the configuration says takes its place.
  private func expectCommandsWork(_ output: String) throws {
    let title = try #require(output.range(of: "in another terminal:\n"))
    let standIn = try Stage.current().newFile("aws.py")
    try Data(Self.awsCLI.utf8).write(to: URL(filePath: standIn))
    let shell = try ChildProcess([
      "/bin/bash", "-euc",
      "aws() { [[ $* == 'sts get-caller-identity --profile demo' ]] && python3 '\(standIn)'; }\n"
        + output[title.upperBound...],
    ])
    expect(try shell.wait(), equals: 0, "\(shell.errors)")
    expect(shell.output.contains(#""AccessKeyId""#) && shell.output.contains("signedIn"))
    expect(
      shell.output.contains(/<Arn>arn:aws:sts::\d{12}:assumed-role\/[^<]+<\/Arn>/),
      "\(shell.output)")
  }

  private static let awsCLI = """
    import configparser, datetime, hashlib, hmac, json, os, shlex, subprocess, urllib.request
    profile = configparser.ConfigParser()
    profile.read(os.environ["AWS_CONFIG_FILE"])
    profile = profile["profile demo"]
    keys = json.loads(subprocess.check_output(shlex.split(profile["credential_process"])))
    url, region = profile["endpoint_url"], profile["region"]
    body = "Action=GetCallerIdentity&Version=2011-06-15"
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    digest = lambda text: hashlib.sha256(text.encode()).hexdigest()
    head = {"host": url.split("//")[1], "x-amz-date": now, "x-amz-security-token": keys["SessionToken"]}
    canonical = "POST\\n/\\n\\n" + "".join(f"{k}:{v}\\n" for k, v in head.items())
    canonical += "\\n" + ";".join(head) + "\\n" + digest(body)
    scope = f"{now[:8]}/{region}/sts/aws4_request"
    key = ("AWS4" + keys["SecretAccessKey"]).encode()
    for part in scope.split("/") + [f"AWS4-HMAC-SHA256\\n{now}\\n{scope}\\n{digest(canonical)}"]:
      key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    head["Authorization"] = (f"AWS4-HMAC-SHA256 Credential={keys['AccessKeyId']}/{scope}, "
      f"SignedHeaders={';'.join(['host', 'x-amz-date', 'x-amz-security-token'])}, Signature={key.hex()}")
    print(urllib.request.urlopen(urllib.request.Request(url, body.encode(), head)).read().decode())
    """

  @Test(arguments: ["credd", "credctl"])
  func saysWhichProgramIsMissing(_ missing: String) throws {
    let folder = try Stage.current().newFile("bin")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for name in Set(["credd", "credctl", "credd-sandbox"]).subtracting([missing]) {
      let copy = try Stage.current().executable(Programs.folder + "/" + name)
      try FileManager.default.moveItem(atPath: copy, toPath: folder + "/" + name)
    }
    let demo = try demo(program: folder + "/credd-sandbox", path: "/nowhere:\(folder)")
    expect(try demo.wait(), equals: 1)
    expect(demo.errors.hasPrefix("Error: \(missing) is missing: "))
    try expectNothingLeft()
  }

  @Test(arguments: [
    (["--demo", "--port", "0"], "--demo takes no option but --keep"),
    (["--keep"], "--keep is for --demo"),
  ])
  func refusesOtherOptions(_ arguments: [String], _ message: String) throws {
    let process = try ChildProcess([Programs.sandbox] + arguments)
    expect(try process.wait(), equals: 64)
    expect(process.errors.contains(message))
  }
}
