import Foundation

/// Where the programs under test are: beside the test bundle, or in `$CREDD_BIN_DIR`. Suites that
/// look for secrets run the stripped release programs of `$CREDD_SHIPPED_DIR`, where it is set.
enum Programs {
  static var folder: String { (try? Stage.current())?.programs ?? built }

  static let built: String =
    ProcessInfo.processInfo.environment["CREDD_BIN_DIR"] ?? besideTests
  /// Nil in a run without a release build.
  static let shipped: String? = ProcessInfo.processInfo.environment["CREDD_SHIPPED_DIR"]
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
