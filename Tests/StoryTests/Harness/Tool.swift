import Foundation

/// A program that a test runs.
enum Tool {
  /// Both streams, until its end.
  static func output(of program: String, _ arguments: [String]) throws -> String {
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(filePath: program)
    process.arguments = arguments
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return String(decoding: output, as: UTF8.self)
  }

  /// A folder of one use, for a function.
  static func withFolder<Result>(_ use: (URL) throws -> Result) throws -> Result {
    let folder = URL(filePath: NSTemporaryDirectory()).appending(path: "story-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try use(folder)
  }
}
