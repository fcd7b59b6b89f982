import ArgumentParser
import CredctlKit

/// A verb whose reply is a session's state: one line for people, or the daemon's.
protocol SessionVerb: Verb {
  var selection: ProfileOption { get }
  var format: JSONFlag { get }
}

extension SessionVerb {
  func showSession(_ request: consuming RequestLine, seconds: Int) throws(Failure) {
    let answer = try client.ask(
      request.finished(), for: .session, profile: selection.profile, seconds: seconds)
    guard !format.json else { return try answer.print() }
    let line = "\(answer.text("Profile")) \(answer.text("State")) \(answer.text("IdentityId"))\n"
    try StandardStream.output.write(line)
  }
}
