import ArgumentParser
import CredctlKit

struct Status: Verb {
  static let configuration = CommandConfiguration(
    abstract: "Show sessions: state, identity, when they expire and renew, the last error.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var format: JSONFlag

  @Flag(help: "Every user's sessions; for root and the administrators' group.")
  var all = false

  func run() throws {
    var request = RequestLine(operation: "status")
    if all { request.add("all", true) }
    let answer = try client.ask(request.finished(), for: .status)
    guard !format.json else { return try answer.print() }
    let report = StatusReport(answer.reply, now: Clock.wallTime)
    try StandardStream.output.write(report.rendered(on: StandardStream.output.surface))
  }
}
