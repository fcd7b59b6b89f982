import CredCore
import CredctlKit

/// A reply of the right shape: as the daemon wrote it, and as a value.
struct Answer {
  let reply: JSONValue
  private let buffer: ReplyBuffer

  init(_ buffer: ReplyBuffer, reply: JSONValue) {
    self.buffer = buffer
    self.reply = reply
  }

  /// Prints the daemon's own line, byte by byte.
  func print() throws(Failure) {
    try StandardStream.output.write(buffer.lineWithNewline)
  }

  /// The daemon's version and process.
  var daemon: String { DaemonLine(reply["Daemon"]).text }

  /// How many callers were let go.
  var released: Int64 { reply["Released"]?.integer ?? 0 }

  func text(_ name: String) -> String { PlainText.oneLine(reply[name]?.text ?? "-") }
}
