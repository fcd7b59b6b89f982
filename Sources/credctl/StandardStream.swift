import CredctlKit
import Glibc

/// Standard output and standard error, written at once and in full.
enum StandardStream: CInt {
  case output = 1
  case error = 2

  /// - Throws: a ``Failure`` where not everything went out: a full disk, a closed pipe.
  func write(_ bytes: ArraySlice<UInt8>) throws(Failure) {
    var rest = bytes
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes {
        unsafe Glibc.write(rawValue, $0.baseAddress, $0.count)
      }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        waitForRoom()
      } else if errno != EINTR {
        let reason = SystemError.text(of: errno)
        throw Failure(.outputFailed, "cannot write to standard output: \(reason)")
      }
    }
  }

  func write(_ text: String) throws(Failure) {
    try write(Array(text.utf8)[...])
  }

  /// Writes what nobody could be told about if it fails.
  func report(_ line: String) {
    try? write(line)
  }

  /// Somebody made the stream non-blocking: it may be another process, so it is left so.
  private func waitForRoom() {
    var entry = pollfd(fd: rawValue, events: Int16(POLLOUT), revents: 0)
    _ = unsafe poll(&entry, 1, -1)
  }

  var isTerminal: Bool { isatty(rawValue) == 1 }

  /// How a table looks there: cut and coloured on a terminal alone (no-color.org).
  var surface: TextTable.Surface {
    guard isTerminal else { return TextTable.Surface(width: nil, hasColour: false) }
    var size = winsize()
    let known = unsafe ioctl(rawValue, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
    let isPlain =
      Environment.value(of: "NO_COLOR")?.isEmpty == false
      || Environment.value(of: "TERM") ?? "dumb" == "dumb"
    return TextTable.Surface(width: known ? Int(size.ws_col) : nil, hasColour: !isPlain)
  }
}
