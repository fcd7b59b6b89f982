import ArgumentParser
import CredctlKit

struct Release: SessionVerb {
  static let configuration = CommandConfiguration(
    abstract: "End the wait of callers that wait for a sign-in: they get an error now.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var selection: ProfileOption
  @OptionGroup var format: JSONFlag

  func run() throws {
    let request = RequestLine(operation: "release", profile: selection.profile)
    let answer = try client.ask(request.finished(), for: .released, profile: selection.profile)
    guard !format.json else { return try answer.print() }
    try StandardStream.output.write("\(answer.text("Profile")): \(answer.released) released\n")
  }
}
