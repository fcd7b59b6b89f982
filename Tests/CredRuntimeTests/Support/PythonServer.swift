import Foundation
import Glibc

/// A server in Python, for as long as this object lives.
final class PythonServer: Sendable {
  /// On loopback. The script's first line of output says it.
  let port: Int
  private let process: Process

  init(_ script: String, _ arguments: [String]) throws {
    process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
    process.arguments = ["-W", "ignore", "-c", script] + arguments
    let (input, output) = (Pipe(), Pipe())
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    var line = Data()
    while line.last != UInt8(ascii: "\n"),
      case let next = output.fileHandleForReading.availableData, !next.isEmpty
    {
      line += next
    }
    guard let port = Int(String(decoding: line.dropLast(), as: UTF8.self)) else {
      throw CocoaError(.fileReadUnknown)
    }
    self.port = port
  }

  deinit {
    kill(process.processIdentifier, SIGKILL)
  }
}
