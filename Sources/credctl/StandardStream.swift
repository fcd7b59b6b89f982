import CLinux
import CredCore
import CredctlKit
import Glibc

/// Standard output and standard error. A write returns after the last byte; nothing is buffered.
enum StandardStream: CInt {
  case output = 1
  case error = 2

  /// - Throws: a ``Failure`` if a byte could not be written: a full disk, a closed pipe.
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
      } else if errno == EPIPE {
        throw .outputClosed
      } else if errno != EINTR {
        let reason = ErrorText.of(errno)
        throw Failure(.outputFailed, "cannot write to standard output: \(reason)")
      }
    }
  }

  func write(_ text: String) throws(Failure) {
    try write(Array(TerminalText.spelled(text, Environment.value(of:)).utf8)[...])
  }

  /// Writes a line. A failure is ignored, because it could not be reported.
  func report(_ line: String) {
    try? write(line)
  }

  /// Another process may have made the stream non-blocking, and may rely on that, so it stays so.
  private func waitForRoom() {
    var entry = pollfd(fd: rawValue, events: Int16(POLLOUT), revents: 0)
    _ = unsafe poll(&entry, 1, -1)
  }

  var isTerminal: Bool { isatty(rawValue) == 1 }

  /// The abilities of the stream. Only a table on a terminal is cut and has colours (no-color.org).
  var display: TextTable.Display {
    guard isTerminal else { return TextTable.Display(width: nil, hasColour: false) }
    var size = winsize()
    let known = unsafe ioctl(rawValue, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
    let isPlain =
      Environment.value(of: "NO_COLOR")?.isEmpty == false
      || Environment.value(of: "TERM") ?? "dumb" == "dumb"
    return TextTable.Display(
      width: known ? Int(size.ws_col) : nil, hasColour: !isPlain,
      ellipsis: TerminalText.spelled("…", Environment.value(of:)))
  }
}

/// The C library's text for an error number.
enum ErrorText {
  static func of(_ number: CInt) -> String {
    unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)"
  }
}
