import Foundation
import Glibc

/// A client that is another user's: the kernel says so of its connection. Takes root.
final class OtherUser {
  private let process = Process()
  private let (input, output) = (Pipe(), Pipe())

  /// Connects as nobody.
  init(_ fixture: ServerFixture) throws {
    unsafe chmod(fixture.folder.path, 0o755)
    process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
    process.arguments = ["-c", Self.script, fixture.path]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    // It is connected and was answered.
    guard try line() == "ready" else { throw LoopThread.Late() }
  }

  deinit { kill(process.processIdentifier, SIGKILL) }

  /// Asks one thing after the other, each when the last is answered.
  ///
  /// - Returns: the median of the times that answers took: a busy machine delays single ones.
  func ask(times: Int) throws -> Duration {
    try questions.write(contentsOf: Data("\(times)\n".utf8))
    return try median()
  }

  /// Takes lines with numbers of questions; ``median()`` waits for the answers.
  var questions: FileHandle { input.fileHandleForWriting }

  func median() throws -> Duration {
    guard let median = Double(try line()) else { throw LoopThread.Late() }
    return .seconds(median)
  }

  private func line() throws -> String {
    var line = Data()
    while line.last != UInt8(ascii: "\n") {
      let next = output.fileHandleForReading.availableData
      guard !next.isEmpty else { throw LoopThread.Late() }
      line += next
    }
    return String(decoding: line.dropLast(), as: UTF8.self)
  }

  private static let script = """
    import os, socket, statistics, sys, time
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(20)
    s.connect(sys.argv[1])
    replies = s.makefile()
    def ask():
        began = time.monotonic()
        s.sendall(b"y\\n")
        assert replies.readline() == "re:y\\n"
        return time.monotonic() - began
    ask()
    print("ready", flush=True)
    for line in sys.stdin:
        print(statistics.median(ask() for _ in range(int(line))), flush=True)
    """
}
