import CredCore
import CredctlKit
import Glibc

/// The terminal of whoever started credctl, whatever its standard streams are.
struct Terminal: ~Copyable {
  private let descriptor: Descriptor

  /// - Throws: a ``Failure`` where there is no terminal.
  init() throws(Failure) {
    let number = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    guard number >= 0 else {
      throw Failure(.usage, "no terminal to ask for the password: use '--password-stdin'")
    }
    descriptor = Descriptor(owning: number)
  }

  /// Asks for a password without echo.
  func password(prompt: String) throws(Failure) -> Secret {
    var before = termios()
    guard unsafe tcgetattr(descriptor.number, &before) == 0 else { throw Self.unusable() }
    // Every key comes to us, ^C too, so that no signal ends credctl and leaves the echo off.
    var silent = before
    unsafe cfmakeraw(&silent)
    show(PlainText.oneLine(prompt))
    guard unsafe tcsetattr(descriptor.number, TCSAFLUSH, &silent) == 0 else {
      throw Self.unusable()
    }
    defer {
      unsafe tcsetattr(descriptor.number, TCSAFLUSH, &before)
      show("\n")
    }
    return try readLine()
  }

  private func readLine() throws(Failure) -> Secret {
    var line = PasswordLine()
    while true {
      var byte: UInt8 = 0
      let count = unsafe read(descriptor.number, &byte, 1)
      if count < 0, errno == EINTR { continue }
      guard count == 1 else { throw Self.unusable() }
      switch line.typed(byte) {
      case .more: continue
      case .done(let password): return password
      case .cancelled: throw Failure(.notPermitted, "sign-in cancelled")
      }
    }
  }

  private func show(_ text: String) {
    let bytes = Array(text.utf8)
    _ = unsafe bytes.withUnsafeBytes { unsafe write(descriptor.number, $0.baseAddress, $0.count) }
  }

  private static func unusable() -> Failure {
    Failure(.usage, "the terminal cannot ask for a password: use '--password-stdin'")
  }
}
