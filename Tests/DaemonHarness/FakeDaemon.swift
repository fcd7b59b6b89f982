import Foundation
import Testing

/// A daemon of which a test says every reply, and which keeps the requests.
final class FakeDaemon {
  let socketPath: String
  private let process: ChildProcess
  private let requestsPath: String

  /// - Parameter replies: by operation, without the newline.
  init(_ replies: [String: String]) throws {
    let stage = try Stage.current()
    let (script, table) = (stage.newFile("daemon.py"), stage.newFile("replies"))
    (socketPath, requestsPath) = (stage.newFile("s"), stage.newFile("requests"))
    try Data(Self.script.utf8).write(to: URL(filePath: script))
    try JSONEncoder().encode(replies).write(to: URL(filePath: table))
    process = try ChildProcess(
      [try #require(Programs.installed("python3")), script, socketPath, table, requestsPath])
    let path = socketPath
    try Deadline.usual.wait(for: "the fake daemon") {
      FileManager.default.fileExists(atPath: path)
    }
  }

  /// The lines that came.
  var requests: [String] {
    ((try? String(contentsOfFile: requestsPath, encoding: .utf8)) ?? "")
      .split(separator: "\n").map(String.init)
  }

  private static let script = """
    import json, os, socket, sys
    replies = json.load(open(sys.argv[2]))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[1] + ".new")
    listener.listen()
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    while True:
      connection, _ = listener.accept()
      line = connection.makefile().readline()
      open(sys.argv[3], "a").write(line)
      connection.sendall(replies[json.loads(line)["op"]].encode() + b"\\n")
      connection.close()
    """
}
