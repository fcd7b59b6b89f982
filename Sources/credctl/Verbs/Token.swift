import ArgumentParser
import CredctlKit

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
