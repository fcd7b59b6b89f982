import ArgumentParser
import CLinux
import CredCore
import CredctlKit

/// One run of credctl. The buffers that requests and replies went through are wiped before it ends;
/// what a parse copied goes with the process, whose memory nobody else may read or dump.
enum Program {
  static func run(_ arguments: [String]) -> Sysexit {
    credd_harden_client()
    do {
      switch try GetOptions.invocation(of: arguments) {
      case .get(let options): try get(options)
      case .other: try Credctl.run(arguments)
      }
      return .success
    } catch {
      StandardStream.error.report(error.line)
      return error.status
    }
  }

  /// `credctl get`: what `credential_process` runs thousands of times, so it touches neither
  /// Foundation nor the argument parser.
  static func get(_ options: GetOptions) throws(Failure) {
    try credentials(options).print()
  }

  static func credentials(_ options: GetOptions) throws(Failure) -> Answer {
    try Client(socketArgument: options.socket).askAcrossRestart(
      options.request, for: .credentials, profile: options.profile,
      seconds: options.patience.timeout)
  }
}

/// The command line of everything but the fast path.
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
      // A question for help, the version or a completion script.
      try StandardStream.output.write(fullMessage(for: error) + "\n")
    }
  }

  private static func usageFailure(_ message: String) -> Failure {
    let first = message.split(separator: "\n").first.map(String.init) ?? "wrong usage"
    let text = first.hasSuffix(".") ? String(first.dropLast()) : first
    return Failure(.usage, text.prefix(1).lowercased() + text.dropFirst() + ": see 'credctl help'")
  }
}
