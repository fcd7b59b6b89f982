public import ArgumentParser
public import CredctlKit

struct Get: FastVerb {
  static let refreshHelp: ArgumentHelp =
    "Fetch new credentials even where the present ones are good."

  static let configuration = CommandConfiguration(
    abstract: "Print credentials in the credential_process format.",
    discussion: """
      One line of JSON on standard output, or nothing there and one line on standard error.
      """)

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var selection: ProfileOption
  @OptionGroup var waiting: WaitingOptions

  @Flag(help: Self.refreshHelp)
  var refresh = false

  @Option(help: "Ask in the name of another user; the profile must allow it (impersonate).")
  var user: String?

  func fastCommand() throws(Failure) -> FastCommand {
    var options = GetOptions(profile: selection.name)
    options.socket = socket
    options.waiting = try waiting.read()
    options.refresh = refresh
    options.user = user
    return .get(options)
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
      One line of JSON with IdentityId, Token and Expiration. Tokens of a user pool are handed out \
      where the profile's vend_tokens names them.
      """)

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var selection: ProfileOption
  @OptionGroup var waiting: WaitingOptions

  @Flag(help: "Fetch a new token even where the present one is good.")
  var refresh = false

  @Option(
    help: ArgumentHelp(
      "developer, or id or access of a user pool; else the profile's usual one.",
      valueName: "kind"))
  var kind: Kind?

  func run() throws {
    var request = RequestLine(operation: "token", profile: selection.name)
    if let kind { request.add("kind", kind.rawValue) }
    let waiting = try waiting.read()
    waiting.add(to: &request)
    if refresh { request.add("refresh", true) }
    let answer = try client.askAcrossRestart(
      request.finished(), for: .token, profile: selection.name, seconds: waiting.timeout)
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

  func fastCommand() throws(Failure) -> FastCommand { .env(try getOptions(), format) }
}

extension VariableFormat: ExpressibleByArgument {}

struct Exec: EnvironmentVerb {
  static let configuration = CommandConfiguration(
    abstract: "Run a command with credentials in its environment.",
    discussion: """
      The command takes credctl's place; no shell reads it. Nothing renews the credentials in its \
      environment: what runs for hours had better use credential_process. Variables that lead to \
      other credentials, such as AWS_PROFILE, are removed; AWS_REGION and AWS_DEFAULT_REGION are \
      set to the identity pool's region if neither is set.

        credctl exec work -- aws s3 ls

      Exit status: the command's own; 126 where it cannot be run and 127 where there is none; \
      without credentials as for every verb.
      """)

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var selection: ProfileOption
  @OptionGroup var lifetime: EnvironmentOptions

  @Argument(parsing: .postTerminator, help: "The command and its arguments, after '--'.")
  var command: [String]

  func fastCommand() throws(Failure) -> FastCommand { .exec(try getOptions(), command: command) }
}
