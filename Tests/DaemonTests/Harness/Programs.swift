import Foundation

/// Where the programs under test are: beside the test bundle, or in `$CREDD_BIN_DIR`.
enum Programs {
  static let folder: String =
    ProcessInfo.processInfo.environment["CREDD_BIN_DIR"] ?? besideTests
  private static let besideTests =
    URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path

  static var credd: String { folder + "/credd" }
  static var credctl: String { folder + "/credctl" }
  static var sandbox: String { folder + "/credd-sandbox" }

  /// The key of all sandboxes, which the first one makes: it takes some tenths of a second.
  static var signingKey: String { besideTests + "/sandbox-signing-key.pem" }

  /// A Debian program; nil where it is not installed.
  static func installed(_ name: String) -> String? {
    ["/usr/bin/", "/bin/", "/usr/sbin/", "/sbin/"].map { $0 + name }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }
}
