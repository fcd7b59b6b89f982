import ArgumentParser
import CredctlKit

/// A verb that talks to the daemon.
protocol Verb: ParsableCommand {
  var program: Credctl { get }
  var connection: SocketOption { get }
}

extension Verb {
  /// The value of `--socket`. A value after the verb takes precedence over one before it.
  var socket: String? { connection.socket ?? program.socket }
  var client: Client { Client(socketArgument: socket) }
}

/// A verb that prints a session's state: one line for people, or the daemon's line.
protocol SessionVerb: Verb {
  var profile: String { get }
  var format: JSONFlag { get }
}

extension SessionVerb {
  func showSession(
    _ request: consuming RequestLine, seconds: Int, secret: SecretDelivery = .none
  ) throws(Failure) {
    let answer = try client.ask(
      request.finished(), for: .session, profile: profile, seconds: seconds,
      secret: secret)
    try showSession(answer)
  }

  func showSession(_ answer: Answer) throws(Failure) {
    guard !format.json else { return try answer.print() }
    try StandardStream.output.write(answer.session)
  }
}

/// A verb that puts credentials into an environment, where a program keeps them until they expire.
protocol EnvironmentVerb: Verb {
  var selection: ProfileOption { get }
  var lifetime: EnvironmentOptions { get }
}

extension EnvironmentVerb {
  func getOptions() throws(Failure) -> GetOptions {
    GetOptions(
      forEnvironment: selection.named, socket: socket,
      waiting: try Waiting(minimumLifetime: lifetime.minTtl, wait: lifetime.wait),
      refresh: lifetime.refresh)
  }

  /// The credentials, with the pool's region if the environment has none.
  func variables(_ options: GetOptions) throws(Failure) -> CredentialVariables {
    let environment = Environment.value(of:)
    do {
      guard !CredentialVariables.hasRegion(environment) else {
        return try CredentialVariables(client.credentials(options).reply, environment: environment)
      }
      let (credentials, identity) = try client.askForBoth(options)
      return try CredentialVariables(
        credentials, region: identity.flatMap(CredentialVariables.region(ofIdentity:)))
    } catch {
      throw error.advisingShorterLifetime
    }
  }
}

/// `--min-ttl`, `--wait` and `--refresh` of ``EnvironmentVerb``.
struct EnvironmentOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Refuse credentials that are valid for less. (default: 900)", valueName: "seconds"))
  var minTtl: String?

  @Option(help: WaitingOptions.waitHelp)
  var wait: String?

  @Flag(help: Get.refreshHelp)
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

/// `--socket`, before the verb or after it.
struct SocketOption: ParsableArguments {
  static let help = ArgumentHelp(
    "The daemon's socket; else $CREDD_SOCKET, else the user's or the system's credd.",
    valueName: "path")

  @Option(help: Self.help, completion: .file())
  var socket: String?
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
