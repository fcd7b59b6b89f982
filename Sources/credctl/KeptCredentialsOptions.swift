import ArgumentParser
import CredctlKit

/// What is demanded of credentials that a program keeps in its environment.
struct KeptCredentialsOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Refuse credentials that are valid for less. (default: 900)", valueName: "seconds"))
  var minTtl: String?

  @Option(
    help: ArgumentHelp(
      "Wait this long for a sign-in, such as 30 or 0.2; 300 at most. (default: 5)",
      valueName: "seconds"))
  var wait: String?

  @Flag(help: "Fetch new credentials even where the present ones are good.")
  var refresh = false
}
