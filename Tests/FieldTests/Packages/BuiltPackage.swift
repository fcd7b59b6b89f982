import Foundation
import Testing

@testable import DaemonHarness

/// The packages that `make deb rpm` leaves in build, and the scripts that make them.
enum BuiltPackage {
  #if arch(x86_64)
    static let processor = "x86_64"
    static let otherProcessor = "aarch64"
    private static let debian = "amd64"
  #else
    static let processor = "aarch64"
    static let otherProcessor = "x86_64"
    private static let debian = "arm64"
  #endif

  /// Both kinds are there, and the programs that read them.
  static let areThere =
    deb("credd") != nil && rpm("credd") != nil
    && ["rpm", "dpkg-deb"].allSatisfy { Programs.installed($0) != nil }

  static func deb(_ name: String) -> String? { newest(name + "_", "_\(debian).deb") }
  static func rpm(_ name: String) -> String? { newest(name + "-", "-1.\(processor).rpm") }

  /// The newest file of a package: a digit follows its name.
  private static func newest(_ start: String, _ end: String) -> String? {
    let folder = Repository.root.appending(path: "build")
    let files = try? FileManager.default.contentsOfDirectory(
      at: folder, includingPropertiesForKeys: [.contentModificationDateKey])
    return files?.filter { file in
      let name = file.lastPathComponent
      return name.hasPrefix(start) && name.hasSuffix(end)
        && name.dropFirst(start.count).first?.isNumber == true
    }
    .max { modified($0) < modified($1) }?.path
  }

  private static func modified(_ file: URL) -> Date {
    let values = try? file.resourceValues(forKeys: [.contentModificationDateKey])
    return values?.contentModificationDate ?? .distantPast
  }

  /// The search path of whoever runs the tests: Swift's toolchain is in it.
  static let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"

  /// Runs a shell command to its end.
  ///
  /// - Parameters:
  ///   - script: with the arguments as `$1` and following.
  ///   - folder: where it runs; the repository's unless given.
  static func shell(
    _ script: String, _ arguments: String..., in folder: String = Repository.root.path,
    environment: [String: String] = [:]
  ) throws -> TestHost.Outcome {
    let usual = ["PATH": path, "HOME": try Stage.current().folder, "LC_ALL": "C.UTF-8"]
    let process = try ChildProcess(
      ["/bin/bash", "-euo", "pipefail", "-c", "cd \"$0\"\n" + script, folder] + arguments,
      environment: usual.merging(environment) { $1 })
    let status = try process.wait(.in(.seconds(300)))
    return TestHost.Outcome(status: status, output: process.output, errors: process.errors)
  }
}
