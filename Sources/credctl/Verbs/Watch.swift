import ArgumentParser
import CredctlKit

struct Watch: Verb {
  static let configuration = CommandConfiguration(
    abstract: "Print what happens to sessions as it happens, until it is interrupted.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var format: JSONFlag

  @Option(name: .shortAndLong, help: "One profile's session; else all of yours.")
  var profile: String?

  func run() throws {
    let request = RequestLine(operation: "watch", profile: profile)
    try client.follow(request.finished(), for: .event, profile: profile) { event throws(Failure) in
      guard !format.json else { return try event.print() }
      let line = EventLine.text(of: event.reply, now: Clock.wallTime)
      try StandardStream.output.write(line + "\n")
    }
  }
}
