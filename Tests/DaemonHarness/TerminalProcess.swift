import CCallers
import Foundation
import Glibc
import Testing
import TestSupport

/// A process in a terminal of its own, at which a test types.
final class TerminalProcess {
  let process: ChildProcess
  private let terminal: Int32
  private var screen: [UInt8] = []
  /// How much of the screen was waited for already.
  private var seen = 0

  /// - Parameters:
  ///   - columns: of the terminal.
  ///   - rows: of the terminal.
  init(
    _ arguments: [String], environment: [String: String] = [:], columns: UInt16 = 120,
    rows: UInt16 = 50
  ) throws {
    var path = [CChar](repeating: 0, count: 64)
    terminal = unsafe ccallers_open_terminal(columns, rows, &path, path.count)
    guard terminal >= 0 else { throw CallFailed("posix_openpt", -terminal) }
    let variables = ["TERM": "xterm", "LANG": "C.UTF-8"]
    process = try ChildProcess(
      arguments, environment: variables.merging(environment, uniquingKeysWith: { $1 }),
      terminal: String(
        decoding: path.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
  }

  /// credctl at a host, in a terminal.
  convenience init(_ host: TestHost, _ arguments: String...) throws {
    try self.init([Programs.credctl, "--socket", host.socketPath] + arguments)
  }

  deinit { close(terminal) }

  /// All that was shown, with carriage returns taken out.
  var text: String {
    String(decoding: screen.filter { $0 != 0x0D }, as: UTF8.self)
  }

  /// Waits until a text is shown that was not waited for before.
  ///
  /// - Returns: what was shown since then, with the text.
  @discardableResult
  func expect(_ wanted: String, _ deadline: Deadline = .usual) throws -> String {
    while true {
      let new = Data(screen[seen...])
      if let range = new.range(of: Data(wanted.utf8)) {
        seen += range.upperBound
        return String(decoding: new[..<range.upperBound], as: UTF8.self)
      }
      guard try read(deadline) else {
        throw Overdue("\(wanted.debugDescription) on the screen: \(text)")
      }
    }
  }

  /// Types a line.
  func type(_ line: String) throws { try press(line + "\r") }

  func press(_ keys: String) throws {
    let bytes = Array(keys.utf8)
    let count = unsafe bytes.withUnsafeBytes { unsafe write(terminal, $0.baseAddress, $0.count) }
    guard count == bytes.count else { throw CallFailed("write") }
  }

  /// Whether the terminal shows what is typed and gives it in lines, as shells expect it.
  var isRestored: Bool {
    var mode = termios()
    guard unsafe tcgetattr(terminal, &mode) == 0 else { return false }
    let wanted = tcflag_t(ECHO | ICANON | ISIG)
    return mode.c_lflag & wanted == wanted
  }

  /// The exit status, when all was shown.
  func end(_ deadline: Deadline = .usual) throws -> Int32 {
    while try read(deadline) {}
    return try process.wait(deadline)
  }

  /// - Returns: false at the end.
  private func read(_ deadline: Deadline) throws -> Bool {
    var entry = pollfd(fd: terminal, events: Int16(POLLIN), revents: 0)
    guard unsafe poll(&entry, 1, deadline.milliseconds) > 0 else {
      throw Overdue("something on the screen: \(text)")
    }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = unsafe Glibc.read(terminal, &bytes, bytes.count)
    // EIO: the last process has closed the terminal.
    guard count > 0 else { return false }
    screen += bytes[..<count]
    return true
  }
}

extension TestHost {
  /// Runs credctl where no terminal is, whatever the tests run in.
  func credctlWithoutTerminal(
    input: String = "/dev/null", _ arguments: String...
  ) throws -> Outcome {
    let setsid = try #require(Programs.installed("setsid"))
    let process = try ChildProcess(
      [setsid, "--wait", Programs.credctl, "--socket", socketPath] + arguments, input: input)
    let status = try process.wait()
    return Outcome(status: status, output: process.output, errors: process.errors)
  }
}
