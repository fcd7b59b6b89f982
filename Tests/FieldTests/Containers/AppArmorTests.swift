import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// The profiles of credd and of its authentication server, as AppArmor's own compiler reads them.
@Suite(.onStage)
struct AppArmorTests {
  @Test(
    .enabled(
      if: Programs.installed("apparmor_parser") != nil, "takes the package 'apparmor'"
    ),
    arguments: [
      "contrib/apparmor/usr.bin.credd", "contrib/authserver/apparmor/credd-authserver",
    ])
  func profileIsAccepted(_ file: String) throws {
    let parser = try #require(Programs.installed("apparmor_parser"))
    let profile = Repository.root.appending(path: file).path
    let check = try ChildProcess([parser, "-QT", profile])
    expect(try check.wait(), equals: 0, "\(check.errors)")
    expect(!check.errors.contains("syntax error"))
  }
}
