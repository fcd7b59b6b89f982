import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// contrib/apparmor, as AppArmor's own compiler reads it.
@Suite(.onStage)
struct AppArmorTests {
  @Test(
    .enabled(
      if: Programs.installed("apparmor_parser") != nil, "takes the package 'apparmor'"
    ))
  func profileIsAccepted() throws {
    let parser = try #require(Programs.installed("apparmor_parser"))
    let profile = Repository.root.appending(path: "contrib/apparmor/usr.bin.credd").path
    let check = try ChildProcess([parser, "-QT", profile])
    expect(try check.wait(), equals: 0, "\(check.errors)")
    expect(!check.errors.contains("syntax error"))
  }
}
