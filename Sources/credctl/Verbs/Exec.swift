import ArgumentParser
import CredctlKit

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
