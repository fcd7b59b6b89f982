import Foundation

/// Where the programs under test are: those beside the test bundle, or the stripped release programs
/// of `$CREDD_SHIPPED_DIR`, which `make test-all` sets. A compiler that optimises leaves secrets in
/// other places.
enum Programs {
  /// Nil in a run without a release build.
  static let shipped: String? = ProcessInfo.processInfo.environment["CREDD_SHIPPED_DIR"]
  static let folder = shipped ?? besideTests
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
