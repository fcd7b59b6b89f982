import ArgumentParser
import CredCore
import CredctlKit

/// Converts a file, without the daemon.
struct Import: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print the configuration for the identity pools and user pools of a mobile app.",
    discussion: """
      Reads awsconfiguration.json of the AWS mobile SDKs, or amplifyconfiguration.json or \
      amplify_outputs.json of Amplify; which it is shows in its content. Comments in the output \
      say what remains to be filled in.

        credctl import --profile work awsconfiguration.json > work.conf
      """)

  @Option(
    name: .shortAndLong,
    help: "The name of the profile. (default: default; further pools bring their own)")
  var profile: String?

  @Argument(help: "The file; - reads standard input.", completion: .file())
  var file: String

  func run() throws {
    let isStandardInput = file == "-"
    let bytes =
      try isStandardInput
      ? SecretInput.standardInput(limit: ImportLimits.fileBytes)
      : SecretInput.contents(ofFile: file, limit: ImportLimits.fileBytes)
    let sections = try ProfileSections(
      importing: bytes, file: isStandardInput ? "standard input" : file, name: profile)
    try StandardStream.output.write(sections.text)
  }
}
