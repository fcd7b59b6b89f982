import ArgumentParser
import CredctlKit

/// `--min-ttl`, `--wait` and `--refresh` of ``EnvironmentVerb``.
struct EnvironmentOptions: ParsableArguments {
  static let refreshHelp: ArgumentHelp =
    "Fetch new credentials even if the present ones are good."

  @Option(
    help: ArgumentHelp(
      "Refuse credentials that are valid for less. (default: 900)", valueName: "seconds"))
  var minTtl: String?

  @Option(help: WaitingOptions.waitHelp)
  var wait: String?

  @Flag(help: Self.refreshHelp)
  var refresh = false
}

/// `--min-ttl` and `--wait`.
struct WaitingOptions: ParsableArguments {
  static let waitHelp = ArgumentHelp(
    "Wait this long for a sign-in, such as 30 or 0.2; 300 at most. (default: 5)",
    valueName: "seconds")

  @Option(help: ArgumentHelp("Ask for one that is valid at least this long.", valueName: "seconds"))
  var minTtl: String?

  @Option(help: Self.waitHelp)
  var wait: String?

  func read() throws(Failure) -> Waiting {
    try Waiting(minimumLifetime: minTtl, wait: wait)
  }
}

/// The profile: the first word, or `--profile`.
struct ProfileOption: ParsableArguments {
  static let help: ArgumentHelp = "The profile of credd's configuration."

  @Argument(
    help: "The profile of credd's configuration; else $CREDD_PROFILE, else default.",
    completion: Completion.profile)
  var profile: String?

  @Option(
    name: [.customShort("p"), .customLong("profile")], help: "The same as an option.",
    completion: Completion.profileOption)
  var option: String?

  func validate() throws {
    guard profile == nil || option == nil else {
      throw ValidationError(DefaultProfile.namedTwice)
    }
  }

  /// Nil if the command line names none.
  var given: String? { profile ?? option }

  /// The profile to use.
  var name: String { named ?? DefaultProfile.ofDaemon }

  /// The profile to name in a request; nil leaves it to the daemon.
  var named: String? { given ?? DefaultProfile.named(environment: Environment.value(of:)) }
}

/// `--no-qr`.
struct QRCodeOption: ParsableArguments {
  @Flag(help: "Show no QR code.")
  var noQr = false
}

/// `--json`.
struct JSONFlag: ParsableArguments {
  @Flag(help: "Print the daemon's line of JSON.")
  var json = false
}
