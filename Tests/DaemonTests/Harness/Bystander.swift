import Foundation
import Glibc
import Testing

/// Another user of the host, with a session of its own, that asks for credentials again and again
/// while a test does its worst. Each request waits for the last one's answer.
struct Bystander {
  /// A busy machine delays single answers, a starved client all of them.
  static let medianLimit: Duration = .milliseconds(100)
  static let worstLimit: Duration = .seconds(5)

  private let process: ChildProcess
  private let end: String

  /// Connects, and was answered once when this returns.
  init(_ host: TestHost, as user: OtherUser = .games) throws {
    unsafe chmod(host.socketPath, 0o666)
    let end = try Stage.current().newFile("end")
    self.end = end
    let process = try PythonScript(Self.script).start(host, as: user, [end])
    self.process = process
    try Deadline.usual.wait(for: "the other user's first answer") {
      if let status = process.status { throw Overdue("it: \(status) \(process.errors)") }
      return process.output.contains("ready\n")
    }
  }

  /// Ends it. It must have been served all the time, and promptly.
  func expectServed() throws {
    try Data().write(to: URL(filePath: end))
    try #require(try process.wait() == 0, "the other user was not served: \(process.errors)")
    let times = process.output.split(separator: "\n").dropFirst().compactMap { Double($0) }.sorted()
    #expect(times.count >= 5)
    #expect(times[times.count / 2] < Self.medianLimit / .seconds(1), "of \(times.count) answers")
    #expect((times.last ?? 0) < Self.worstLimit / .seconds(1), "of \(times.count) answers")
  }

  private static let script = """
    import json, os, socket, sys, time
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(30)
    s.connect(sys.argv[1])
    replies = s.makefile()
    def ask():
        began = time.monotonic()
        s.sendall(b'{"wait":30}\\n')
        reply = json.loads(replies.readline())
        assert "AccessKeyId" in reply, reply
        return time.monotonic() - began
    ask()
    print("ready", flush=True)
    times = []
    while len(times) < 5 or not os.path.exists(sys.argv[2]):
        times.append(ask())
        time.sleep(0.002)
    print(*times, sep="\\n")
    """
}
