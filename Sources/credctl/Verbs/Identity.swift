import ArgumentParser
import CredctlKit

struct Identity: SessionVerb {
  static let configuration = CommandConfiguration(
    abstract: "Show the session's state and IdentityId; asks no server.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var selection: ProfileOption
  @OptionGroup var format: JSONFlag

  func run() throws {
    try showSession(
      RequestLine(operation: "identity", profile: selection.profile), seconds: WaitLimits.margin)
  }
}
