import Foundation

/// A program that a test runs.
enum Tool {
  /// The credctl that was built beside the tests, or what ships, as DaemonTests find it.
  static let credctl: String = {
    let besideTests = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
      .deletingLastPathComponent().path
    return (ProcessInfo.processInfo.environment["CREDD_SHIPPED_DIR"] ?? besideTests) + "/credctl"
  }()

  /// A Debian program; nil where it is not installed.
  static func installed(_ name: String) -> String? {
    ["/usr/bin/", "/bin/"].map { $0 + name }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }

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
