import ArgumentParser
import CredctlKit

struct Clear: SessionVerb {
  enum Part: String, ExpressibleByArgument, CaseIterable {
    case credentials
    case identity
  }

  static let configuration = CommandConfiguration(
    abstract: "Forget a session's credentials, or its identity too; the next get fetches anew.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var selection: ProfileOption
  @OptionGroup var format: JSONFlag

  @Argument(help: "credentials (keeps the identity) or identity (forgets both).")
  var what: Part

  func run() throws {
    var request = RequestLine(operation: "clear", profile: selection.profile)
    request.add("what", what.rawValue)
    try showSession(request, seconds: WaitLimits.margin)
  }
}
