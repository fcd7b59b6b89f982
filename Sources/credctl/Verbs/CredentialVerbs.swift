public import ArgumentParser
import CredCore
public import CredctlKit

/// ``GetArguments`` reads this verb too. ArgumentParser has it for help; both run the same code.
struct Get: Verb {
  static let configuration = CommandConfiguration(
    abstract: "Print credentials in the credential_process format.",
    discussion: """
      One line of JSON on standard output, or nothing there and one line on standard error.
      """)

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var selection: ProfileOption
  @OptionGroup var waiting: WaitingOptions

  @Flag(help: EnvironmentOptions.refreshHelp)
  var refresh = false

  @Option(
    help: "Ask in the name of another user; the profile must allow it (impersonate).",
    completion: Completion.user)
  var user: String?

  func run() throws { try Program.get(options()) }

  func options() throws(Failure) -> GetOptions {
    var options = GetOptions(profile: selection.named)
    options.socket = socket
    options.waiting = try waiting.read()
    options.refresh = refresh
    options.user = user
    return options
  }
}

struct Token: Verb {
  enum Kind: String, ExpressibleByArgument, CaseIterable {
    case developer
    case id
    case access
  }

  static let configuration = CommandConfiguration(
    abstract: "Print the OpenID token that stands for the identity.",
    discussion: """
      One line of JSON with IdentityId, Token and Expiration. Tokens of a user pool or an OpenID \
      Connect provider are handed out where the profile's vend_tokens names them.
      """)

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var selection: ProfileOption
  @OptionGroup var waiting: WaitingOptions

  @Flag(help: "Fetch a new token even if the present one is good.")
  var refresh = false

  @Option(
    help: ArgumentHelp(
      "developer, or id or access of a user pool or provider; else the profile's usual one.",
      valueName: "kind"))
  var kind: Kind?

  func run() throws {
    let answer = try client.askAgain(
      for: .token, profile: selection.name, waiting: try waiting.read()
    ) { waiting in
      var request = RequestLine(operation: "token", profile: selection.named)
      if let kind { request.add("kind", kind.rawValue) }
      waiting.add(to: &request)
      if refresh { request.add("refresh", true) }
      return request.finished()
    }
    try answer.print()
  }
}

struct Env: EnvironmentVerb {
  static let configuration = CommandConfiguration(
    abstract: "Print credentials as environment variables.",
    discussion: """
      Nothing renews what a shell has in its environment. Formats: sh, fish (both also unset the \
      variables that lead to other credentials), dotenv for docker and systemd, json. On failure \
      sh and fish get 'false' to evaluate.

        eval "$(credctl env work)" && aws s3 ls
        credctl env work --format fish | source
      """)

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var selection: ProfileOption
  @OptionGroup var lifetime: EnvironmentOptions

  @Option(help: ArgumentHelp("sh, fish, dotenv or json.", valueName: "format"))
  var format = VariableFormat.sh

  func run() throws {
    var text = try format.text(of: variables(getOptions()))
    defer { text.wipe() }
    try StandardStream.output.write(text[...])
  }
}

extension VariableFormat: ExpressibleByArgument {}

struct Serve: Verb {
  static let configuration = CommandConfiguration(
    abstract: "Run a command with its own HTTP endpoint, for places without credd's.",
    discussion: """
      As 'exec --renew', but always with an endpoint of credctl's own: in a container into which \
      credd's socket is mounted, for example. It ends with the command. Without a command it prints \
      the variables that lead there, and serves until it is interrupted.

        credctl serve work -- rclone sync /data s3:bucket
      """)

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var selection: ProfileOption

  @Option(
    help: ArgumentHelp("A literal loopback address.", valueName: "address:port"),
    completion: Completion.address)
  var listen = "127.0.0.1:0"

  @Flag(help: "Trust only the token, if the kernel cannot say who connects.")
  var tokenOnly = false

  @Flag(help: "Hide ~/.aws/config from the command.")
  var noConfig = false

  @Argument(
    parsing: .postTerminator,
    help: "The command and its arguments, after '--'; without one, credctl serves by itself.",
    completion: Completion.command)
  var command: [String] = []

  func run() throws {
    guard let address = EndpointAddress(listen) else {
      throw Failure(
        .usage, "'--listen' takes a literal loopback address such as 127.0.0.1:0, not '\(listen)'")
    }
    var options = GetOptions(profile: selection.named)
    options.socket = socket
    options.leavesOutConfig = noConfig
    let renewal = Renewal(options: options, address: address, trustsToken: tokenOnly)
    guard !command.isEmpty else { try renewal.serve() }
    throw try renewal.failure(becoming: command)
  }
}

struct EndpointVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "endpoint",
    abstract: "Print variables that lead AWS's SDKs to credd's HTTP endpoint.",
    discussion: """
      Programs that speak HTTP alone get their credentials there, and renew them by themselves. The \
      token in the variables works for your processes on this host, until the next boot. AWS_REGION \
      and AWS_DEFAULT_REGION are set as by 'exec'. On failure the shell gets 'false' to evaluate.

        eval "$(credctl endpoint work)" && gdalinfo /vsis3/bucket/image.tif
      """)

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var selection: ProfileOption

  @Flag(help: "Hide ~/.aws/config.")
  var noConfig = false

  func run() throws {
    let name = selection.named
    let answer = try client.askAgain(
      for: .endpoint, profile: name, waiting: Waiting(), seconds: WaitLimits.margin
    ) { _ in RequestLine(operation: "endpoint", profile: name).finished() }
    var options = GetOptions(profile: name)
    options.leavesOutConfig = noConfig
    let variables = try CredentialVariables(
      endpoint: answer.reply, region: client.region(for: options), leavesOutConfig: noConfig,
      environment: Environment.value(of:))
    Renewal(options: options).warnOfConfig()
    var text = try VariableFormat.sh.text(of: variables)
    defer { text.wipe() }
    try StandardStream.output.write(text[...])
  }
}

struct Exec: EnvironmentVerb {
  static let configuration = CommandConfiguration(
    abstract: "Run a command with credentials in its environment.",
    discussion: """
      The command takes credctl's place; no shell reads it. Nothing renews the credentials in its \
      environment: what runs for hours takes --renew, which leads AWS's SDKs to an HTTP endpoint. \
      Variables that lead to other credentials, such as AWS_PROFILE, are removed; AWS_REGION and \
      AWS_DEFAULT_REGION are set to the identity pool's region if neither is set.

        credctl exec work -- aws s3 ls

      Exit status: the command's own; 126 where it cannot be run and 127 where there is none; \
      without credentials as for every verb.
      """)

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var selection: ProfileOption
  @OptionGroup var lifetime: EnvironmentOptions

  @Flag(help: "Give the command an endpoint that renews, not keys that end.")
  var renew = false

  @Flag(help: "With --renew: hide ~/.aws/config from the command.")
  var noConfig = false

  // The usage shows arguments in this order, and an option after '--' is one of the command's.
  @Argument(
    parsing: .postTerminator, help: "The command and its arguments, after '--'.",
    completion: Completion.command)
  var command: [String]

  func validate() throws {
    guard renew || !noConfig else {
      throw ValidationError("'--no-config' goes with '--renew'")
    }
  }

  func run() throws {
    var options = try getOptions()
    options.leavesOutConfig = noConfig
    if renew { throw try Renewal(options: options).failure(becoming: command) }
    let environment = try variables(options).merged(into: Environment.entries)
    throw Replacement.failure(becoming: command, environment: environment)
  }
}
