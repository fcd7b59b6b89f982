import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// Another user of the host, with a session of its own, that asks for credentials again and again
/// while a test does its worst. Each request waits for the last one's answer.
struct Bystander {
  /// A busy machine delays single answers, a starved client all of them.
  static let medianLimit: Duration = .milliseconds(100)
  static let worstLimit: Duration = .seconds(2)
  /// Answers a second, of some hundred on a quiet machine.
  static let rateLimit = 10.0

  private let process: ChildProcess
  private let end: String
  private let began: ContinuousClock.Instant

  /// Connects, and was answered once when this returns.
  ///
  /// - Parameters:
  ///   - each: which question, the tenth for example, is the first of a new connection; 0 for none.
  ///   - pause: from an answer to the next question.
  init(
    _ host: TestHost, as user: OtherUser = .games, connectsAnew each: Int = 10,
    pause: Duration = .milliseconds(2)
  ) throws {
    unsafe chmod(host.socketPath, 0o666)
    let end = try Stage.current().newFile("end")
    self.end = end
    let process = try PythonScript(Self.script).start(
      host, as: user, [end, "\(each)", "\(pause / .seconds(1))"])
    self.process = process
    try Deadline.usual.wait(for: "the other user's first answer") {
      if let status = process.status { throw Overdue("it: \(status) \(process.errors)") }
      return process.output.contains("ready\n")
    }
    began = .now
  }

  /// Ends it. It must have been served all the time, and promptly.
  func expectServed() throws {
    let seconds = began.duration(to: .now) / .seconds(1)
    let (inTime, times) = try finish()
    let what = Comment(rawValue: "\(inTime) answers in \(seconds) s, \(times.count) in all")
    expect(times.count >= 5)
    // The first half second is for those that ask at once.
    expect(inTime >= (seconds - 0.5) * Self.rateLimit, what)
    expect(times[times.count / 2] < Self.medianLimit / .seconds(1), what)
    // The one that was due when the test had ended counts too.
    expect((times.last ?? 0) < Self.worstLimit / .seconds(1), what)
  }

  /// Ends it.
  ///
  /// - Returns: how many answers came before the end.
  func answers() throws -> Int {
    Int(try finish().inTime)
  }

  /// - Returns: how many answers came before the end, and the seconds that each took, sorted.
  private func finish() throws -> (inTime: Double, times: [Double]) {
    try Data().write(to: URL(filePath: end))
    try #require(try process.wait() == 0, "the other user was not served: \(process.errors)")
    let lines = process.output.split(separator: "\n").dropFirst()
    let inTime = try #require(lines.first.flatMap { Double($0) })
    return (inTime, lines.dropFirst().compactMap { Double($0) }.sorted())
  }

  private static let script = """
    import json, os, socket, sys, time
    end, each, pause = sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    def connect():
        s = socket.socket(socket.AF_UNIX)
        # Without a timeout it waits where the listener's queue is full.
        s.connect(sys.argv[1])
        s.settimeout(120)
        return s, s.makefile()
    s, replies = connect()
    def ask(anew=False):
        global s, replies
        began = time.monotonic()
        if anew:
            replies.close()
            s.close()
            s, replies = connect()
        s.sendall(b'{"wait":30}\\n')
        reply = json.loads(replies.readline())
        assert "AccessKeyId" in reply, reply
        return time.monotonic() - began
    ask()
    print("ready", flush=True)
    times, inTime = [], 0
    while len(times) < 5 or not os.path.exists(end):
        times.append(ask(each and len(times) % each == each - 1))
        inTime += not os.path.exists(end)
        time.sleep(pause)
    print(inTime, *times, sep="\\n")
    """
}
