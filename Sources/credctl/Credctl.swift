import ArgumentParser
import CLinux
import CredCore
import CredctlKit
import Glibc

/// One run of credctl.
///
/// The buffers of requests and replies are wiped before it ends. The kernel frees the copies that
/// parsing made. Until then, no other process of the user can read or dump this memory.
@main enum Program {
  static func main() {
    credd_harden_client()
    let arguments = CommandLine.arguments.dropFirst()
    do {
      let profile = DefaultProfile.named(environment: Environment.value(of:))
      let isDone = try GetArguments.read(arguments, profile: profile, get)
      if !isDone { try Credctl.run(Array(arguments)) }
      exit(Sysexit.success.code)
    } catch {
      if EvaluatedOutput.isExpected(of: arguments) {
        StandardStream.output.report(EvaluatedOutput.ofFailure)
      }
      StandardStream.error.report(error.line)
      exit(error.status.code)
    }
  }

  /// Runs `get`, without ArgumentParser and Foundation.
  static func get(_ options: GetOptions) throws(Failure) {
    try Client(socketArgument: options.socket).credentials(options).print()
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

      The profile of a verb is its first word, or '-p NAME'; else $CREDD_PROFILE, else 'default'.

      Exit status: 0 done; 64 wrong usage; 65 a given file cannot be used; 69 credd or its \
      configuration is at fault; 74 output failed; 75 try again; 77 sign in first, or not \
      permitted; 130 Ctrl-C at a prompt.
      """,
    version: Version.current,
    subcommands: [
      Get.self, Token.self, Identity.self, Status.self, Profiles.self, Login.self, Respond.self,
      Logout.self, Account.self, Clear.self, Release.self, Watch.self, Exec.self, Env.self,
      EndpointVerb.self, Serve.self, Metrics.self, Check.self, Import.self, Ping.self,
    ])

  @Option(help: SocketOption.help, completion: .file())
  var socket: String?

  func run() throws {
    throw Failure(.usage, "a verb is missing: see 'credctl help'")
  }

  static func run(_ arguments: [String]) throws(Failure) {
    do {
      var command = try parseAsRoot(AccountArguments.inOrder(arguments))
      try command.run()
    } catch let failure as Failure {
      throw failure
    } catch {
      guard exitCode(for: error) == .success else {
        throw usageFailure(message(for: error), arguments)
      }
      // The user asked for help, the version or a completion script.
      try StandardStream.output.write(fullMessage(for: error) + "\n")
    }
  }

  /// ArgumentParser's message in credctl's form, with the nearest valid option or verb.
  private static func usageFailure(_ message: String, _ arguments: [String]) -> Failure {
    let first = message.split(separator: "\n").first.map(String.init) ?? "wrong usage"
    var text = first.hasSuffix(".") ? String(first.dropLast()) : first
    text = (text.prefix(1).lowercased() + text.dropFirst())
      .replacing(". Did you mean ", with: "; did you mean ")
    if let word = unknownVerb(in: arguments) {
      let near = NearestName.suggestion(word, in: verbs, otherwise: ": see 'credctl help'")
      return Failure(.usage, "there is no verb '\(word)'\(near)")
    }
    return Failure(.usage, text.hasSuffix("?") ? text : text + ": see 'credctl help'")
  }

  private static var verbs: [String] {
    configuration.subcommands.map { $0.configuration.commandName ?? "\($0)".lowercased() } + [
      "help"
    ]
  }

  /// The first word, if it is no verb.
  private static func unknownVerb(in arguments: [String]) -> String? {
    var rest = arguments[...]
    while let word = rest.first, word == "--socket" || word.hasPrefix("--socket=") {
      rest = rest.dropFirst(word == "--socket" ? 2 : 1)
    }
    guard let word = rest.first, !word.hasPrefix("-"), !verbs.contains(word) else { return nil }
    return word
  }
}
