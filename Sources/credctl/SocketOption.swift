import ArgumentParser
import CredctlKit

/// `--socket`, before the verb or after it.
struct SocketOption: ParsableArguments {
  static let help = ArgumentHelp(
    "The daemon's socket; else $CREDD_SOCKET, else the user's or the system's credd.",
    valueName: "path")

  @Option(help: Self.help, completion: .file())
  var socket: String?
}
