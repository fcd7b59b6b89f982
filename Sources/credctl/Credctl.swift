import ArgumentParser
import CLinux
import CredCore
import CredctlKit
import Glibc

/// One run of credctl.
///
/// The buffers of requests and replies are wiped before it ends. The kernel frees what parsing
/// copied; until then no other process of the user can read or dump this memory.
@main enum Program {
  static func main() {
    credd_harden_client()
    let arguments = CommandLine.arguments.dropFirst()
    do {
      if let command = try FastCommand(arguments) {
        try run(command)
        // Not after the `if`: to destroy the optional there, Swift would make metadata at run time.
        exit(Sysexit.success.code)
      }
      try Credctl.run(Array(arguments))
      exit(Sysexit.success.code)
    } catch {
      StandardStream.error.report(error.line)
      exit(error.status.code)
    }
  }

  /// Runs a verb that programs and shells run often. It touches neither ArgumentParser nor
  /// Foundation.
  static func run(_ command: FastCommand) throws(Failure) {
    switch command {
    case .get(let options):
      try credentials(options).print()
    case .env(let options, let format):
      var text = try format.text(of: variables(options))
      defer { text.wipe() }
      try StandardStream.output.write(text[...])
    case .exec(let options, let command):
      let environment = try variables(options).merged(into: Environment.entries)
      throw Replacement.failure(becoming: command, environment: environment)
    case .ping(let socket, let json):
      let client = Client(socketArgument: socket)
      let answer = try client.ask(RequestLine(operation: "ping").finished(), for: .daemon)
      if json { try answer.print() } else { try StandardStream.output.write(answer.daemon + "\n") }
    }
  }

  private static func variables(_ options: GetOptions) throws(Failure) -> CredentialVariables {
    do {
      return try CredentialVariables(credentials(options).reply)
    } catch {
      throw error.advisingShorterLifetime
    }
  }

  private static func credentials(_ options: GetOptions) throws(Failure) -> Answer {
    try Client(socketArgument: options.socket).askAcrossRestart(
      options.request, for: .credentials, profile: options.profile,
      seconds: options.waiting.timeout)
  }
}

/// The whole command line, for ArgumentParser.
struct Credctl: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "credctl",
    abstract: "Get AWS credentials from credd, and see and steer its sessions.",
    discussion: """
      credd keeps one session for each user and profile, and renews its credentials. In \
      ~/.aws/config:

        [profile work]
        credential_process = /usr/bin/credctl get --profile work

      Exit status: 0 done; 64 wrong usage; 65 the given file is wrong; 69 credd or its \
      configuration is at fault; 74 output failed; 75 try again; 77 sign in first, or not \
      permitted.
      """,
    version: Version.current,
    subcommands: [
      Get.self, Token.self, Identity.self, Status.self, Login.self, Logout.self,
      Clear.self, Release.self, Watch.self, Exec.self, Env.self, Import.self, Ping.self,
    ])

  @Option(help: SocketOption.help)
  var socket: String?

  func run() throws {
    throw Failure(.usage, "a verb is missing: see 'credctl help'")
  }

  static func run(_ arguments: [String]) throws(Failure) {
    do {
      var command = try parseAsRoot(arguments)
      try command.run()
    } catch let failure as Failure {
      throw failure
    } catch {
      guard exitCode(for: error) == .success else { throw usageFailure(message(for: error)) }
      // The user asked for help, the version or a completion script.
      try StandardStream.output.write(fullMessage(for: error) + "\n")
    }
  }

  private static func usageFailure(_ message: String) -> Failure {
    let first = message.split(separator: "\n").first.map(String.init) ?? "wrong usage"
    let text = first.hasSuffix(".") ? String(first.dropLast()) : first
    return Failure(.usage, text.prefix(1).lowercased() + text.dropFirst() + ": see 'credctl help'")
  }
}
