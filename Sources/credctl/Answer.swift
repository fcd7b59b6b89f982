import CredCore
import CredctlKit

/// A reply of the right shape: the daemon's bytes and their JSON value.
struct Answer {
  let reply: JSONValue
  /// How to reach the host's credd, if the user's credd has answered in its place.
  let hidden: String?
  private let buffer: ReplyBuffer

  init(_ buffer: ReplyBuffer, reply: JSONValue, hidden: String? = nil) {
    self.buffer = buffer
    self.reply = reply
    self.hidden = hidden
  }

  /// Prints the daemon's own line, byte by byte.
  func print() throws(Failure) {
    try StandardStream.output.write(buffer.lineWithNewline)
  }

  /// The daemon's version and process.
  var daemon: String { DaemonLine(reply["Daemon"]).text }

  /// The state of a session, and who is signed in.
  var session: String { SignedInText.line(reply) }

  /// How many waiting callers `release` ended.
  var released: Int64 { reply["Released"]?.integer ?? 0 }

  /// A text of several lines.
  func lines(of name: String) -> String {
    (reply[name]?.text ?? "").split(separator: "\n").map { PlainText.oneLine(String($0)) + "\n" }
      .joined()
  }

  func text(_ name: String) -> String { PlainText.oneLine(reply[name]?.text ?? "-") }
}
