import ArgumentParser
import CredctlKit

/// The whole command line, for ArgumentParser. `Credctl+Verbs` lists the verbs.
struct Credctl: ParsableCommand {
  @Option(help: SocketOption.help, completion: .file())
  var socket: String?

  func run() throws {
    StandardStream.error.report(MainVerbs.text)
    throw Failure(.usage, "a verb is missing: see 'credctl help'")
  }
}
