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
