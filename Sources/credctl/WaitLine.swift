import Glibc

/// A line on the terminal while an answer takes long. It is gone before anything else is written.
struct WaitLine {
  private static let text = "waiting for credd …"

  private var isShown = false

  /// A command in the background writes nothing: the terminal may stop it (`stty tostop`).
  mutating func show() {
    guard !isShown, StandardStream.error.isTerminal, Self.isInForeground else { return }
    isShown = true
    StandardStream.error.report(Self.text)
  }

  func erase() {
    // Wider than the text, also where the locale has no `…`.
    guard isShown, Self.isInForeground else { return }
    StandardStream.error.report("\r" + String(repeating: " ", count: 24) + "\r")
  }

  private static var isInForeground: Bool { tcgetpgrp(STDERR_FILENO) == getpgrp() }
}
