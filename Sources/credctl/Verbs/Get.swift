import ArgumentParser
import CredctlKit

/// What `credctl help get` shows. The fast path answers `get`; this runs the same code.
struct Get: Verb {
  static let configuration = CommandConfiguration(
    abstract: "Print credentials in the credential_process format.",
    discussion: """
      One line of JSON on standard output, or nothing there and one line on standard error.
      """)

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var selection: ProfileOption
  @OptionGroup var patience: PatienceOptions

  @Flag(help: "Fetch new credentials even where the present ones are good.")
  var refresh = false

  @Option(help: "Ask in the name of another user; the profile must allow it (impersonate).")
  var user: String?

  func run() throws {
    var options = GetOptions()
    options.socket = connection.socket ?? program.socket
    options.profile = selection.profile
    options.patience = try patience.read()
    options.refresh = refresh
    options.user = user
    try Program.get(options)
  }
}
