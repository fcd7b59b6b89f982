/// credd's command line: a few long options, `--name value` or `--name=value`.
///
/// credd reads it without a package: that would take a third of the program's size and of its start
/// time.
public struct DaemonCommandLine: Equatable, Sendable {
  public enum Option: String, CaseIterable, Sendable {
    case config = "--config"
    case socket = "--socket"
    case endpoint = "--endpoint"
    case tokenSocket = "--token-socket"
    case checkConfig = "--check-config"
    case logLevel = "--log-level"
    case version = "--version"
    case help = "--help"
  }

  public enum Request: Equatable, Sendable {
    case serve(DaemonCommandLine)
    case help
    case version
  }

  public struct Misuse: Error, Equatable, CustomStringConvertible {
    public let description: String
  }

  /// The main file; the fragments in its `.d` directory are read too.
  public private(set) var config = DaemonCommandLine.hostConfig
  /// The main file of the host's own daemon.
  public static let hostConfig = "/etc/credd/credd.conf"
  /// Whether the command line names the file.
  public private(set) var namesConfig = false
  /// The path to bind if systemd passed no socket.
  public private(set) var socket = "/run/credd/credd.sock"
  /// Where to serve HTTP clients if systemd passed no socket for them; nil: nowhere.
  public private(set) var endpoint: EndpointAddress?
  /// The path of the socket for units' tokens if systemd passed none; nil: there is none.
  public private(set) var tokenSocket: String?
  /// The path of that socket in the package.
  public static let usualTokenSocket = "/run/credd-tokens/sock"
  public private(set) var checkConfig = false
  /// Overrides the configured level.
  public private(set) var logLevel: LogLevel?

  public init() {}

  /// The output of `--help`.
  public static let help = """
    OVERVIEW: Serve AWS credentials for developer-authenticated identities over a
    Unix socket.

    Takes its listening socket from systemd where one was passed, else binds
    --socket. Runs in the foreground; SIGTERM ends it.

    USAGE: credd [--config <file>] [--socket <path>] [--endpoint <address:port>]
                 [--token-socket <path>] [--check-config] [--log-level <level>]

    OPTIONS:
      --config <file>         Read FILE, then FILE.d/*.conf. (default:
                              /etc/credd/credd.conf)
      --socket <path>         Bind this path where systemd passed no socket.
                              (default: /run/credd/credd.sock)
      --endpoint <address:port>
                              Serve HTTP clients on this literal loopback address,
                              such as 127.0.0.1:337, where systemd passed no
                              socket for them. (default: not at all)
      --token-socket <path>   Bind this path for LoadCredential= of units, where
                              systemd passed no socket for it. (default: none)
      --check-config          Check the configuration, print all of its problems,
                              or that it has none, and exit. Root checks it as
                              the user credd.
      --log-level <level>     error, warning, notice, info or debug. (values:
                              error, warning, notice, info, debug)
      --version               Show the version.
      -h, --help              Show help information.

    """

  /// Reads the arguments after the program's name. `--help` wins over all other arguments, then
  /// `--version`. If an option is given twice, the last one counts.
  public static func read(_ arguments: [String]) throws(Misuse) -> Request {
    let words = arguments.prefix { $0 != "--" }
    if words.contains(where: { $0 == Option.help.rawValue || $0 == "-h" }) { return .help }
    if words.contains(Option.version.rawValue) { return .version }
    var line = Self()
    var rest = words
    while let word = rest.popFirst() { try line.take(word, &rest) }
    if arguments.count > words.count + 1 { throw unexpected(arguments[words.count + 1]) }
    return .serve(line)
  }

  private mutating func take(
    _ word: String, _ rest: inout ArraySlice<String>
  ) throws(Misuse) {
    guard Self.isOption(word) else { throw Self.unexpected(word) }
    let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    let attached = parts.count > 1 ? String(parts[1]) : nil
    switch Option(rawValue: name) {
    case .config:
      config = try Self.value(name, attached, &rest)
      namesConfig = true
    case .socket: socket = try Self.value(name, attached, &rest)
    case .endpoint: endpoint = try Self.address(Self.value(name, attached, &rest))
    case .tokenSocket: tokenSocket = try Self.value(name, attached, &rest)
    case .logLevel: logLevel = try Self.level(Self.value(name, attached, &rest))
    case .checkConfig where attached == nil: checkConfig = true
    case .checkConfig, .version, .help:
      throw Misuse(description: "option '\(name)' takes no value")
    case nil:
      let near = NearestName.suggestion(name, in: Option.allCases.map(\.rawValue))
      throw Misuse(description: "unknown option '\(name)'\(near)")
    }
  }

  /// A value that starts with a dash must follow `=`: otherwise it would be the next option.
  private static func value(
    _ name: String, _ attached: String?, _ rest: inout ArraySlice<String>
  ) throws(Misuse) -> String {
    let value = attached ?? (rest.first.map(isOption) == true ? nil : rest.popFirst())
    guard let value, !value.isEmpty else {
      throw Misuse(description: "option '\(name)' needs a value")
    }
    return value
  }

  private static func address(_ text: String) throws(Misuse) -> EndpointAddress {
    if let address = EndpointAddress(text) { return address }
    throw Misuse(
      description:
        "'\(text)' is no literal loopback address with a port: 127.0.0.1:337 and [::1]:337 are")
  }

  private static func level(_ text: String) throws(Misuse) -> LogLevel {
    if let level = LogLevel(rawValue: text) { return level }
    throw Misuse(
      description:
        "'\(text)' is no log level: error, warning, notice, info and debug are")
  }

  private static func unexpected(_ word: String) -> Misuse {
    Misuse(description: "unexpected argument '\(word)'")
  }

  private static func isOption(_ word: String) -> Bool { word.utf8.first == UInt8(ascii: "-") }
}
