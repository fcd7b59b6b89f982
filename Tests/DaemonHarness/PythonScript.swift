import Foundation
import TestSupport
import Testing

/// Clients that do what Swift reaches badly: several users, descriptors, uids, in one process.
struct PythonScript {
  let path: String

  static var canRun: Bool { Programs.installed("python3") != nil }

  /// - Parameter text: with credd's socket as `sys.argv[1]`.
  init(_ text: String) throws {
    path = try Stage.current().newFile("script.py")
    try Data(text.utf8).write(to: URL(filePath: path))
  }

  func start(
    _ host: TestHost, as user: OtherUser? = nil, _ arguments: [String] = [],
    through prefix: [String] = []
  ) throws -> ChildProcess {
    let python = try #require(Programs.installed("python3"))
    return try ChildProcess(
      (try user?.prefix ?? []) + prefix + [python, path, host.socketPath] + arguments)
  }

  /// What it printed, line by line, when it has ended well.
  func lines(
    _ host: TestHost, as user: OtherUser? = nil, _ arguments: [String] = [],
    through prefix: [String] = []
  ) throws -> [String] {
    let process = try start(host, as: user, arguments, through: prefix)
    expect(try process.wait(), equals: 0, "\(process.errors)")
    return process.output.split(separator: "\n").map(String.init)
  }
}
