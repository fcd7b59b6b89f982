public import ArgumentParser
public import CredctlKit

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

struct Token: Verb {
  static let configuration = CommandConfiguration(
    abstract: "Print the OpenID token that stands for the identity.",
    discussion: "One line of JSON with IdentityId, Token and Expiration.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var selection: ProfileOption
  @OptionGroup var patience: PatienceOptions

  func run() throws {
    var request = RequestLine(operation: "token", profile: selection.profile)
    let patience = try patience.read()
    patience.add(to: &request)
    let answer = try client.askAcrossRestart(
      request.finished(), for: .token, profile: selection.profile, seconds: patience.timeout)
    try answer.print()
  }
}

struct Env: KeptCredentialsVerb {
  static let configuration = CommandConfiguration(
    abstract: "Print credentials as environment variables.",
    discussion: """
      Nothing renews what a shell has in its environment. Formats: sh, fish (both also unset the \
      variables that lead to other credentials), dotenv for docker and systemd, json.

        eval "$(credctl env --profile work)"
        credctl env --profile work --format fish | source
      """)

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var selection: ProfileOption
  @OptionGroup var demands: KeptCredentialsOptions

  @Option(help: ArgumentHelp("sh, fish, dotenv or json.", valueName: "format"))
  var format = VariableFormat.sh

  func run() throws {
    var text = try format.text(of: credentialVariables())
    defer { text.wipe() }
    try StandardStream.output.write(text[...])
  }
}

extension VariableFormat: ExpressibleByArgument {}

struct Exec: KeptCredentialsVerb {
  static let configuration = CommandConfiguration(
    abstract: "Run a command with credentials in its environment.",
    discussion: """
      The command takes credctl's place; no shell reads it. Nothing renews the credentials in its \
      environment: what runs for hours had better use credential_process. Variables that lead to \
      other credentials, such as AWS_PROFILE, are removed.

        credctl exec --profile work -- aws s3 ls

      Exit status: the command's own; 126 where it cannot be run and 127 where there is none; \
      without credentials as for every verb.
      """)

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var selection: ProfileOption
  @OptionGroup var demands: KeptCredentialsOptions

  @Argument(parsing: .postTerminator, help: "The command and its arguments, after '--'.")
  var command: [String]

  func run() throws {
    let variables = try credentialVariables()
    throw Replacement.failure(
      becoming: command, environment: variables.merged(into: Environment.entries))
  }
}
