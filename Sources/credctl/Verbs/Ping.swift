import ArgumentParser
import CredctlKit

struct Ping: Verb {
  static let configuration = CommandConfiguration(
    abstract: "Check that credd answers; print its version and process.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var format: JSONFlag

  func run() throws {
    let answer = try client.ask(RequestLine(operation: "ping").finished(), for: .daemon)
    guard !format.json else { return try answer.print() }
    try StandardStream.output.write(answer.daemon + "\n")
  }
}
