import ArgumentParser
import CredctlKit

/// A verb that talks to the daemon.
protocol Verb: ParsableCommand {
  var program: Credctl { get }
  var connection: SocketOption { get }
}

extension Verb {
  var client: Client { Client(socketArgument: connection.socket ?? program.socket) }
}

/// `--profile`.
struct ProfileOption: ParsableArguments {
  @Option(name: .shortAndLong, help: "The profile of credd's configuration.")
  var profile = "default"
}

/// `--json`.
struct JSONFlag: ParsableArguments {
  @Flag(help: "Print the daemon's line of JSON.")
  var json = false
}

/// A verb whose reply is a session's state: one line for people, or the daemon's.
protocol SessionVerb: Verb {
  var selection: ProfileOption { get }
  var format: JSONFlag { get }
}

extension SessionVerb {
  func showSession(_ request: consuming RequestLine, seconds: Int) throws(Failure) {
    let answer = try client.ask(
      request.finished(), for: .session, profile: selection.profile, seconds: seconds)
    guard !format.json else { return try answer.print() }
    let line = "\(answer.text("Profile")) \(answer.text("State")) \(answer.text("IdentityId"))\n"
    try StandardStream.output.write(line)
  }
}

/// A verb that hands credentials to something that keeps them until they expire.
protocol KeptCredentialsVerb: Verb {
  var selection: ProfileOption { get }
  var demands: KeptCredentialsOptions { get }
}

extension KeptCredentialsVerb {
  func credentialVariables() throws(Failure) -> CredentialVariables {
    let options = GetOptions(
      socket: connection.socket ?? program.socket, profile: selection.profile,
      keeping: try Patience(minimumLifetime: demands.minTtl, wait: demands.wait),
      refresh: demands.refresh)
    do {
      return try CredentialVariables(Program.credentials(options).reply)
    } catch {
      throw error.advisingShorterLifetime
    }
  }
}

/// What is demanded of credentials that a program keeps in its environment.
struct KeptCredentialsOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Refuse credentials that are valid for less. (default: 900)", valueName: "seconds"))
  var minTtl: String?

  @Option(
    help: ArgumentHelp(
      "Wait this long for a sign-in, such as 30 or 0.2; 300 at most. (default: 5)",
      valueName: "seconds"))
  var wait: String?

  @Flag(help: "Fetch new credentials even where the present ones are good.")
  var refresh = false
}

/// `--min-ttl` and `--wait`.
struct PatienceOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Ask for one valid at least this long.", valueName: "seconds"))
  var minTtl: String?

  @Option(
    help: ArgumentHelp(
      "Wait this long for a sign-in, such as 30 or 0.2; 300 at most. (default: 5)",
      valueName: "seconds"))
  var wait: String?

  func read() throws(Failure) -> Patience {
    try Patience(minimumLifetime: minTtl, wait: wait)
  }
}

/// `--socket`, which may stand before the verb and after it.
struct SocketOption: ParsableArguments {
  static let help = ArgumentHelp(
    "The daemon's socket; else $CREDD_SOCKET, else the user's or the system's credd.",
    valueName: "path")

  @Option(help: Self.help)
  var socket: String?
}
