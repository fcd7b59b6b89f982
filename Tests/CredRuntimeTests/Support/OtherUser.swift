import Foundation
import Glibc
import TestSupport

/// A client that is another user's: the kernel says so of its connection. Takes root.
final class OtherUser {
  private let process = Process()
  private let (input, output) = (Pipe(), Pipe())

  /// Connects as nobody.
  init(_ fixture: ServerFixture) throws {
    unsafe chmod(fixture.folder.path, 0o755)
    process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
    process.arguments = ["-c", Self.script, fixture.path, "\(HangLimit.seconds)"]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    // It is connected and was answered.
    guard try line() == "ready" else { throw LoopThread.Late() }
  }

  deinit { kill(process.processIdentifier, SIGKILL) }

  /// Asks one thing after the other, each when the last is answered.
  func ask(times: Int) throws {
    try questions.write(contentsOf: Data("\(times)\n".utf8))
    try waitForAnswers()
  }

  /// Takes lines with numbers of questions.
  var questions: FileHandle { input.fileHandleForWriting }

  /// Connects anew, with a question, and goes on before the answer.
  var connectAnew: @Sendable () throws -> Void {
    let (questions, answers) = (questions, output.fileHandleForReading)
    return {
      try questions.write(contentsOf: Data("anew\n".utf8))
      guard try Self.line(of: answers) == "sent" else { throw LoopThread.Late() }
    }
  }

  /// To all questions of one line.
  func waitForAnswers() throws {
    guard try line() == "answered" else { throw LoopThread.Late() }
  }

  private func line() throws -> String { try Self.line(of: output.fileHandleForReading) }

  private static func line(of answers: FileHandle) throws -> String {
    var line = Data()
    while line.last != UInt8(ascii: "\n") {
      let next = answers.availableData
      guard !next.isEmpty else { throw LoopThread.Late() }
      line += next
    }
    return String(decoding: line.dropLast(), as: UTF8.self)
  }

  private static let script = """
    import os, socket, sys
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    def connect():
        global s, replies
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(int(sys.argv[2]))
        s.connect(sys.argv[1])
        replies = s.makefile()
    def ask(sent=""):
        s.sendall(b"y\\n")
        if sent: print(sent, flush=True)
        assert replies.readline() == "re:y\\n"
    connect()
    ask()
    print("ready", flush=True)
    for line in sys.stdin:
        if line == "anew\\n":
            connect()
            ask("sent")
        else:
            for _ in range(int(line)):
                ask()
        print("answered", flush=True)
    """
}
