import TestSupport
import Testing

@testable import CredCore

struct DaemonCommandLineTests {
  typealias Request = DaemonCommandLine.Request

  private func read(_ words: String) throws -> Request {
    try DaemonCommandLine.read(words.split(separator: " ").map(String.init))
  }

  private func line(_ words: String) throws -> DaemonCommandLine {
    guard case .serve(let line) = try read(words) else {
      throw DaemonCommandLine.Misuse(description: "is a question")
    }
    return line
  }

  private func problem(_ words: String) -> String? {
    do {
      _ = try read(words)
      return nil
    } catch {
      return "\(error)"
    }
  }

  @Test func noArguments() throws {
    let line = try line("")
    expect(line.config, equals: "/etc/credd/credd.conf")
    expect(line.socket, equals: "/run/credd/credd.sock")
    expect(!line.checkConfig)
    expect(line.logLevel == nil)
    expect(line.endpoint == nil && line.tokenSocket == nil)
  }

  @Test func `the endpoint's sockets`() throws {
    let line = try line("--endpoint 127.0.0.1:337 --token-socket=/run/t/sock")
    expect(line.endpoint, equals: EndpointAddress(port: 337))
    expect(line.tokenSocket, equals: "/run/t/sock")
    expect(problem("--endpoint localhost:337")?.contains("no literal loopback address") == true)
    expect(problem("--endpoint 0.0.0.0:337")?.contains("no literal loopback address") == true)
  }

  @Test(
    arguments: [
      "--config a --socket b=c --check-config --log-level debug",
      "--log-level=info --log-level=debug --socket=b=c --config=a --check-config --",
    ])
  func allOptions(_ words: String) throws {
    let line = try line(words)
    expect(line.config, equals: "a")
    expect(line.socket, equals: "b=c")
    expect(line.checkConfig)
    expect(line.logLevel, equals: .debug)
  }

  @Test func `a value may look like an option where it is attached`() throws {
    expect(try line("--config=--socket").config, equals: "--socket")
  }

  @Test(
    arguments: [
      ("--help", .help), ("-h", .help), ("--bad --help", .help), ("--version --help", .help),
      ("--version", .version), ("--config a --version", .version),
    ] as [(String, Request)])
  func helpAndVersion(_ words: String, _ request: Request) throws {
    expect(try read(words), equals: request)
  }

  @Test(
    arguments: [
      ("--confg x", "unknown option '--confg'; did you mean '--config'?"),
      ("--checkconfig", "unknown option '--checkconfig'; did you mean '--check-config'?"),
      ("-x", "unknown option '-x'"), ("--", nil), ("- x", "unknown option '-'"),
      ("--config", "option '--config' needs a value"),
      ("--config=", "option '--config' needs a value"),
      ("--config --socket x", "option '--config' needs a value"),
      ("--config -- x", "option '--config' needs a value"),
      ("--check-config=yes", "option '--check-config' takes no value"),
      ("--help=yes", "option '--help' takes no value"),
      (
        "--log-level loud",
        "'loud' is no log level: error, warning, notice, info and debug are"
      ),
      ("extra", "unexpected argument 'extra'"), ("-- --help", "unexpected argument '--help'"),
    ] as [(String, String?)])
  func mistakes(_ words: String, _ expected: String?) {
    expect(problem(words), equals: expected)
  }

  @Test func `the help has every option and every level, and fits a terminal`() {
    let help = DaemonCommandLine.help
    for option in DaemonCommandLine.Option.allCases {
      expect(help.contains("\(option.rawValue) "), "\(option)")
    }
    let levels = LogLevel.allCases.map(\.rawValue).joined(separator: ", ")
    expect(
      help.split(separator: "\n").map { $0.drop { $0 == " " } }.joined(separator: " ")
        .contains("(values: \(levels))"))
    for line in help.split(separator: "\n") where !line.hasPrefix("USAGE") {
      expect(line.count <= 80, "\(line)")
    }
  }
}
