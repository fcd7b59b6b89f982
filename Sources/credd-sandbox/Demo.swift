import FoundationEssentials
import Glibc
import SandboxKit

/// `credd-sandbox --demo`: shows credentials from a separate sandbox, credd and credctl. All files
/// are in one temporary folder.
final class Demo {
  /// How long a daemon may take to start, and a command to end.
  private static let patience = Duration.seconds(10)

  private let credd: String
  private let credctl: String
  /// The path quoted for shells and AWS's programs, which split a line at blanks.
  private var quotedCredctl: String { credctl.contains(" ") ? "\"\(credctl)\"" : credctl }
  private let folder: String
  private let signals = AwaitedSignals()
  /// The daemons, in the order of their start.
  private var daemons: [ChildProcess] = []

  /// Finds the programs first, so that nothing is created if one is missing.
  init() throws(DemoError) {
    credd = try Demo.program("credd")
    credctl = try Demo.program("credctl")
    folder = try Demo.newFolder()
  }

  private var socket: String { folder + "/credd.sock" }
  private var awsConfiguration: String { folder + "/aws.config" }

  /// - Parameter keeps: whether the demonstration goes on until a signal comes.
  func run(keeps: Bool) throws {
    defer { end() }
    title("A token backend, Cognito Identity and STS, all on loopback")
    let url = try startSandbox()
    show("credd-sandbox listens on \(url)")

    title("credd, with a profile that asks them")
    let configuration = Demo.configuration(url)
    try write(configuration, to: folder + "/credd.conf")
    show(configuration.trimmingSuffix("\n"))
    try startCredd()

    title("The first call asks the backend for a token and Cognito for credentials")
    let first = try get()
    title("The second one is answered from memory")
    let second = try get()
    show("first \(first), second \(second) (process start included)")

    title("Any AWS SDK or tool gets them through credential_process, in ~/.aws/config")
    let tools = """
      [profile demo]
      region = us-east-1
      credential_process = \(quotedCredctl) get --profile demo
      endpoint_url = \(url)

      """
    try write(tools, to: awsConfiguration)
    show(tools.trimmingSuffix("\n"))
    guard keeps else {
      end()
      return title("Done; everything is stopped. 'credd-sandbox --demo --keep' leaves it running.")
    }
    title("Both daemons go on running until Ctrl-C. To try them, in another terminal:")
    show(
      """
      export CREDD_SOCKET=\(socket.shellWord)
      export AWS_CONFIG_FILE=\(awsConfiguration.shellWord) AWS_SHARED_CREDENTIALS_FILE=/dev/null
      export no_proxy=127.0.0.1
      \(credctl.shellWord) get --profile demo
      \(credctl.shellWord) status
      aws sts get-caller-identity --profile demo
      """)
    try waitForInterruption()
  }

  private func end() {
    for daemon in daemons.reversed() { daemon.stop() }
    try? FileManager.default.removeItem(atPath: folder)
  }
}

/// The steps.
extension Demo {
  /// - Returns: its URL.
  private func startSandbox() throws(DemoError) -> String {
    let ready = folder + "/sandbox.ready"
    let command = ["/proc/self/exe", "--ready-file", ready, "--any-user", "--quiet"]
    let sandbox = try start(command)
    daemons.append(sandbox)
    try sandbox.wait(for: "it listened", within: Demo.patience) {
      FileManager.default.fileExists(atPath: ready)
    }
    return Demo.text(ready).trimmingSuffix("\n")
  }

  private func startCredd() throws(DemoError) {
    let state = folder + "/state"
    do {
      try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: false)
    } catch { throw DemoError(description: "\(state): \(error)") }
    let command = [credd, "--config", folder + "/credd.conf", "--socket", socket]
    say(command.joined(separator: " "))
    let daemon = try start(command, ["STATE_DIRECTORY": state])
    daemons.append(daemon)
    try daemon.wait(for: "it listened", within: Demo.patience) { () throws(DemoError) in
      guard FileManager.default.fileExists(atPath: socket) else { return false }
      let ping = try start([credctl, "ping"])
      return (try? ping.succeed(within: Demo.patience)) != nil
    }
  }

  /// Shows one `credctl get`, and returns the time that it took.
  private func get() throws(DemoError) -> String {
    say("credctl get --profile demo")
    let before = ContinuousClock.now
    let command = try start([credctl, "get", "--profile", "demo"])
    try command.succeed(within: Demo.patience)
    let tenths = Int((before.duration(to: .now) / .microseconds(100)).rounded())
    show(Demo.shortened(command.output))
    return "\(tenths / 10).\(tenths % 10) ms"
  }

  /// Throws if a daemon ends by itself.
  private func waitForInterruption() throws(DemoError) {
    do {
      while true {
        for daemon in daemons { try daemon.expectRunning() }
        try signals.pause(.seconds(60))
      }
    } catch {
      guard error.isInterruption else { throw error }
    }
  }

  private func start(
    _ command: [String], _ more: [String: String] = [:]
  ) throws(DemoError) -> ChildProcess {
    // Variables of the caller's shell, for proxies, AWS or another credd, are not passed on.
    let own = ["PATH": Demo.searchPath, "CREDD_SOCKET": socket]
    return try ChildProcess(
      command, environment: own.merging(more) { $1 }, folder: folder, signals: signals)
  }

  private static func configuration(_ url: String) -> String {
    func profile(_ name: String) -> String {
      """
      [profile \(name)]
      identity_pool_id = \(SandboxSeed.defaultPool)
      developer_provider = \(SandboxSeed.defaultProvider)
      backend = sandbox
      cognito_endpoint = \(url)

      """
    }
    return """
      [backend sandbox]
      type = http
      url = \(url)/token

      \(profile("demo"))
      """
  }
}

/// Files and words.
extension Demo {
  private static let searchPath =
    ProcessInfo.processInfo.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"

  /// The program beside this one, or else in the PATH.
  private static func program(_ name: String) throws(DemoError) -> String {
    let own = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
      .deletingLastPathComponent().path
    let folders = [own] + searchPath.split(separator: ":").map(String.init)
    let paths = folders.map { ($0 == "/" ? "" : $0) + "/" + name }
    guard let path = paths.first(where: FileManager.default.isExecutableFile(atPath:)) else {
      throw DemoError(
        description: "\(name) is missing: it is neither in \(own) nor in PATH; "
          + "the Debian package credd has it")
    }
    return path
  }

  private static func newFolder() throws(DemoError) -> String {
    let wanted = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
    // The path of a socket has room for 107 bytes.
    let parent = wanted.hasPrefix("/") && wanted.utf8.count <= 64 ? wanted : "/tmp"
    var template = Array("\(parent)/credd-demo.XXXXXX".utf8CString)
    guard unsafe mkdtemp(&template) != nil else {
      throw DemoError(
        description: "\(parent): no folder can be made: \(unsafe String(cString: strerror(errno)))")
    }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  private func write(_ text: String, to path: String) throws {
    try Data(text.utf8).write(to: URL(filePath: path))
  }

  private static func text(_ path: String) -> String {
    String(decoding: (try? Data(contentsOf: URL(filePath: path))) ?? Data(), as: UTF8.self)
  }

  /// The reply with its secrets cut after four characters.
  private static func shortened(_ reply: String) -> String {
    guard var members = JSON(parsing: Array(reply.utf8))?.members else { return reply }
    for name in ["SecretAccessKey", "SessionToken"] {
      if let text = members[name]?.text { members[name] = .string(text.prefix(4) + "…") }
    }
    return String(decoding: JSON.object(members).bytes, as: UTF8.self)
  }

  // Bold and dim at a terminal, plain text elsewhere.
  private static let isPlain =
    isatty(STDOUT_FILENO) == 0 || ProcessInfo.processInfo.environment["NO_COLOR"] != nil

  private func title(_ text: String) {
    show("\n" + (Demo.isPlain ? text : "\u{1B}[1m\(text)\u{1B}[0m"))
  }

  private func say(_ command: String) {
    show(Demo.isPlain ? "$ " + command : "\u{1B}[2m$ \(command)\u{1B}[0m")
  }

  private func show(_ text: String) {
    print(text)
    fflush(nil)
  }
}

extension String {
  /// The text as a word for a shell.
  fileprivate var shellWord: String {
    let isPlain = utf8.allSatisfy {
      UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 || "0123456789/._-".utf8.contains($0)
    }
    return isPlain ? self : "'" + replacing("'", with: #"'\''"#) + "'"
  }

  fileprivate func trimmingSuffix(_ suffix: Character) -> String {
    var text = self
    while text.last == suffix { text.removeLast() }
    return text
  }
}
