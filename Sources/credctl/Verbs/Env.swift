public import ArgumentParser
public import CredctlKit

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
