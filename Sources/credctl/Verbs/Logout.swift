import ArgumentParser
import CredctlKit

struct Logout: SessionVerb {
  static let configuration = CommandConfiguration(
    abstract: "Sign out: forget tokens, credentials, logins and the identity.",
    discussion: "The session stays signed out until the next 'credctl login'.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var selection: ProfileOption
  @OptionGroup var format: JSONFlag

  @Flag(help: "Tell the organisation's server too.")
  var global = false

  func run() throws {
    var request = RequestLine(operation: "logout", profile: selection.profile)
    if global { request.add("global", true) }
    try showSession(request, seconds: WaitLimits.upstream)
  }
}
