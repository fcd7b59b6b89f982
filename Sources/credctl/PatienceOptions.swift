import ArgumentParser
import CredctlKit

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
