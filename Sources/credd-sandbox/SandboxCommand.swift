import ArgumentParser
import FoundationEssentials
import Glibc
import SandboxKit

/// `credd-sandbox`: reads its arguments, serves until a stop signal.
@main
struct SandboxCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "credd-sandbox",
    abstract: "A strict stand-in for Cognito, STS, an OpenID Connect provider and a token backend.",
    discussion: """
      For trying credd without an AWS account, for tests and benchmarks, on loopback. Never for \
      production. Cognito, user pools and STS answer at /, the Hosted UI of user pools under \
      /oauth2/, the OpenID Connect provider under /oidc/, the backend at /token, /login and /logout, \
      the sample authentication server under /sample/, the control path under /control/. A user's password \
      is the name followed by "-password" unless the seed gives another.
      """,
    version: SandboxVersion.current)

  @OptionGroup var listening: ListeningOptions
  @OptionGroup var seeding: SeedOptions

  @Option(
    help:
      "File to write the base URL to once listening; further lines have TLS's and the replica's.")
  var readyFile: String?

  @Flag(help: "Print nothing.")
  var quiet = false

  @Flag(
    help: "Show credentials: starts a sandbox, credd and credctl, and stops them again.")
  var demo = false

  @Flag(help: "With --demo: leaves them running until Ctrl-C.")
  var keep = false

  func validate() throws {
    guard demo || !keep else { throw ValidationError("--keep is for --demo") }
    guard !demo || Set(CommandLine.arguments.dropFirst()).isSubset(of: ["--demo", "--keep"]) else {
      throw ValidationError("--demo takes no option but --keep")
    }
  }

  func run() throws {
    // A log at the limit on the size of files (RLIMIT_FSIZE) must not end the sandbox.
    signal(SIGXFSZ, SIG_IGN)
    if demo { return try Demo().run(keeps: keep) }
    try serve()
  }

  private func serve() throws {
    let sandbox = Sandbox(
      try seeding.seed(), issuer: try seeding.issuer(), randomSeed: .random(in: 0 ... .max))
    let server = try SandboxServer(sandbox, stopSignals: blockStopSignals())
    let urls = try listening.listen(on: server)
    if let readyFile {
      let text = urls.joined(separator: "\n") + "\n"
      try Data(text.utf8).write(to: URL(filePath: readyFile), options: .atomic)
    }
    if !quiet {
      print("credd-sandbox: listening on \(urls.joined(separator: ", "))")
      fflush(nil)
    }
    try server.serve()
  }

  /// SIGTERM and SIGINT, which the server waits for.
  private func blockStopSignals() -> sigset_t {
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe sigaddset(&signals, SIGTERM)
    unsafe sigaddset(&signals, SIGINT)
    unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    return signals
  }
}
