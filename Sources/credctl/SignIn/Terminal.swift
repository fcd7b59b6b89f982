import CLinux
import CredCore
import CredctlKit
import Glibc

/// The user's terminal, even if the standard streams are no terminal.
struct Terminal: ~Copyable {
  private let descriptor: Descriptor

  /// - Parameter instead: the advice in the error, for a run without a terminal.
  /// - Throws: a ``Failure`` if there is no terminal.
  init(
    instead: String = "no terminal to ask for the password: use '--password-stdin'"
  ) throws(Failure) {
    let number = Self.opened()
    guard number >= 0 else { throw Failure(.usage, instead) }
    descriptor = Descriptor(owning: number)
  }

  /// The terminal of the session. Without one, the terminal on standard input, as getpass(3) does:
  /// `su -c` begins another session, which has no terminal.
  ///
  /// - Returns: a descriptor that the caller closes; negative if there is no terminal.
  private static func opened() -> CInt {
    let number = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    guard number < 0, isatty(STDIN_FILENO) == 1,
      fcntl(STDIN_FILENO, F_GETFL) & O_ACCMODE == O_RDWR
    else { return number }
    return fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
  }

  /// Whether there is a terminal.
  static var isThere: Bool {
    let number = opened()
    guard number >= 0 else { return false }
    close(number)
    return true
  }

  /// Asks for a password or a code without echo.
  ///
  /// - Parameter deadline: nanoseconds of ``Clock``; nil to wait without a limit.
  func secret(prompt: String, until deadline: Int64? = nil) throws(Failure) -> Secret {
    // In raw mode ^C is a byte and no signal.
    let before = try enter { mode in unsafe cfmakeraw(&mode) }
    // The mode is set first, so that text that is typed after the prompt is neither shown nor lost.
    show(PlainText.oneLine(prompt))
    defer { leave(to: before, showing: "\n") }
    var line = PasswordLine()
    while true {
      var byte: UInt8 = 0
      guard try waitForInput(until: deadline) else { throw Self.overdue }
      let count = unsafe read(descriptor.number, &byte, 1)
      if count < 0, errno == EINTR { continue }
      guard count == 1 else { throw Self.unusable }
      switch line.typed(byte) {
      case .more: continue
      case .done(let password): return password
      case .cancelled: throw Self.cancelled
      }
    }
  }

  /// Asks for a line that may be shown. The terminal itself lets the user correct the line.
  func line(prompt: String, until deadline: Int64? = nil) throws(Failure) -> Secret {
    let before = try enter { mode in
      mode.c_lflag |= tcflag_t(ICANON | ECHO | IEXTEN)
      mode.c_iflag |= tcflag_t(ICRNL)
      // ^C ends the line, not credctl.
      mode.c_lflag &= ~tcflag_t(ISIG)
      unsafe withUnsafeMutableBytes(of: &mode.c_cc) { unsafe $0[Int(VEOL)] = Self.controlC }
    }
    show(PlainText.oneLine(prompt))
    defer { leave(to: before) }
    // A terminal never gives a longer line.
    var bytes = [UInt8](repeating: 0, count: 4096)
    defer { bytes.wipe() }
    while true {
      guard try waitForInput(until: deadline) else {
        show("\n")
        throw Self.overdue
      }
      let count = unsafe read(descriptor.number, &bytes, bytes.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw Self.unusable }
      guard count > 0, bytes[count - 1] != Self.controlC else {
        show("\n")
        throw Self.cancelled
      }
      return Secret(Array(bytes[..<count]))
    }
  }

  private static let controlC: UInt8 = 0x03

  /// Runs `body` while the user acts elsewhere. Typed text is not shown and comes byte by byte, and
  /// Ctrl-C is a byte. A terminal keeps only 4,096 bytes of a line, and a pasted address may be
  /// longer.
  func whileNothingIsShown<Result>(
    _ body: (CInt) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let before = try enter { mode in
      mode.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG | IEXTEN)
      mode.c_iflag &= ~tcflag_t(IXON)
      unsafe withUnsafeMutableBytes(of: &mode.c_cc) { bytes in
        unsafe bytes[Int(VMIN)] = 1
        unsafe bytes[Int(VTIME)] = 0
      }
    }
    defer { leave(to: before) }
    return try body(descriptor.number)
  }

  /// Whether the user pressed Ctrl-C or is gone. All other typed text is dropped.
  static func isInterrupted(_ terminal: CInt) -> Bool {
    var bytes = [UInt8](repeating: 0, count: 256)
    defer { bytes.wipe() }
    let count = unsafe read(terminal, &bytes, bytes.count)
    guard count > 0 else { return !(count < 0 && (errno == EINTR || errno == EAGAIN)) }
    return bytes[..<count].contains(controlC)
  }

  /// Shows text that is safe for a terminal.
  func show(_ text: String) {
    var bytes = Array(TerminalText.spelled(text, Environment.value(of:)).utf8)[...]
    while !bytes.isEmpty {
      let count = unsafe bytes.withUnsafeBytes {
        unsafe write(descriptor.number, $0.baseAddress, $0.count)
      }
      // A terminal that is held (Ctrl-S) takes nothing: a signal ends the wait.
      guard count > 0 || errno == EINTR && credd_noted_end() == 0 else { return }
      bytes = bytes.dropFirst(max(count, 0))
    }
  }

  /// Nil if the terminal does not report it.
  var size: TerminalText.Size? {
    var size = winsize()
    guard unsafe ioctl(descriptor.number, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0,
      size.ws_row > 0
    else { return nil }
    return TerminalText.Size(columns: Int(size.ws_col), rows: Int(size.ws_row))
  }

  /// What a prompt has changed.
  private struct Before {
    var mode = termios()
    /// Whether signals are noted for this prompt alone. Where a sign-in has begun, it has more to put in
    /// order than the terminal, and ends credctl itself.
    var notesEnds = false
  }

  /// From here on a signal leaves credctl the time to leave the terminal as it was.
  private func enter(_ change: (inout termios) -> Void) throws(Failure) -> Before {
    var before = Before()
    guard unsafe tcgetattr(descriptor.number, &before.mode) == 0 else { throw Self.unusable }
    before.notesEnds = credd_note_ends()
    var mode = before.mode
    change(&mode)
    guard unsafe tcsetattr(descriptor.number, TCSAFLUSH, &mode) == 0 else {
      if before.notesEnds { credd_let_ends_through() }
      throw Self.unusable
    }
    return before
  }

  /// Ends credctl by a signal that came meanwhile.
  ///
  /// - Parameter text: shown in the mode that was before.
  private func leave(to before: Before, showing text: String = "") {
    var before = before
    // Another signal may interrupt it before it has changed anything.
    while unsafe tcsetattr(descriptor.number, TCSAFLUSH, &before.mode) != 0, errno == EINTR {}
    show(text)
    if before.notesEnds { credd_let_ends_through() }
  }

  /// - Returns: whether there is something to read before the deadline.
  private func waitForInput(until deadline: Int64?) throws(Failure) -> Bool {
    while true {
      let left = deadline.map { $0 - Clock.nanoseconds }
      guard left ?? 1 > 0 else { return false }
      if credd_noted_end() != 0 { throw Self.cancelled }
      var input = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
      // At most a second, because a signal may come just before the wait.
      let milliseconds = CInt(clamping: min(((left ?? .max) - 1) / 1_000_000 + 1, 1000))
      let ready = unsafe poll(&input, 1, milliseconds)
      if ready > 0 { return true }
      if ready < 0, errno != EINTR { throw Self.unusable }
    }
  }

  private static var unusable: Failure {
    Failure(.usage, "the terminal cannot be used")
  }

  private static var cancelled: Failure { .signInCancelled }

  static var overdue: Failure {
    Failure(.notPermitted, "nothing was typed in time: begin again")
  }
}

extension Failure {
  /// Whether the user can be asked no more questions. Then the daemon is told so.
  var endsConversation: Bool { self == Terminal.overdue || status == .interrupted }
}
