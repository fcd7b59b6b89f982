import Foundation
import Testing
import TestSupport

@testable import DaemonHarness

/// Which hosts the programs start on.
@Suite(.onStage)
struct SymbolVersionTests {
  /// That of Amazon Linux 2023 and of RHEL 9.
  private static let newest = (2, 34)

  @Test(
    .enabled(if: Programs.installed("objdump") != nil, "takes Debian's binutils"),
    arguments: [Programs.credd, Programs.credctl, Programs.sandbox])
  func wantsNoNewerLibc(_ program: String) throws {
    let objdump = Programs.installed("objdump") ?? "objdump"
    let reading = try ChildProcess([objdump, "-T", program])
    // credctl is a static program, of which objdump says that it has no such symbols.
    let isDynamic = try reading.wait() == 0
    expect(isDynamic, equals: program != Programs.credctl)
    expect(reading.output.contains("GLIBC_2.34"), equals: isDynamic)
    let newer = reading.output.split(separator: "\n").filter { line in
      guard let version = line.firstMatch(of: /GLIBC_(\d+)\.(\d+)/),
        let major = Int(version.1), let minor = Int(version.2)
      else { return false }
      return (major, minor) > Self.newest
    }
    expect(newer.map { $0.split(separator: " ").last.map(String.init) ?? "" }, equals: [])
  }

  /// Who can write beside a program, or mounts something there, gives it no library.
  @Test(
    .enabled(
      if: Programs.shipped != nil && Programs.installed("objdump") != nil,
      "takes Debian's binutils, and CREDD_SHIPPED_DIR"),
    arguments: [Programs.credd, Programs.credctl, Programs.sandbox])
  func looksForLibrariesWhereTheSystemHasThem(_ program: String) throws {
    let reading = try ChildProcess([Programs.installed("objdump") ?? "objdump", "-p", program])
    expect(try reading.wait(), equals: 0)
    expect(reading.output.contains("LOAD"))
    expect(reading.output.split(separator: "\n").filter { $0.contains("PATH") }, equals: [])
  }
}
