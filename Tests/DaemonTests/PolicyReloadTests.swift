import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// A reload with the policies of derived profiles.
@Suite(.onStage)
struct PolicyReloadTests {
  private static let policy =
    #"{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"a:b","Resource":"*"}}"#

  private func write(_ text: String, _ path: String, mode: Int = 0o644) throws {
    try Data(text.utf8).write(to: URL(filePath: path))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
  }

  @Test(
    arguments: [
      (policy, 0o666, "is not safe: others may write to"), ("{", 0o644, "is not JSON: at byte 1"),
      ("{}", 0o644, #"has no "Version": "2012-10-17""#), (nil, 0, "cannot be read: No such file"),
    ] as [(String?, Int, String)])
  func aPolicyThatBecameBadIsSaidAndTheOldConfigurationStays(
    _ text: String?, _ mode: Int, _ fault: String
  ) throws {
    let path = try Stage.current().newFile("policy.json")
    try write(Self.policy, path)
    let host = try TestHost {
      Configuration.usual($0)
        + "[profile narrow]\nsource_profile = default\npolicy_file = \(path)\nallow_users = *\n"
    }
    let before = try host.ask()
    if let text {
      try write(text, path, mode: mode)
    } else {
      try FileManager.default.removeItem(atPath: path)
    }
    try host.reload(until: "the new configuration is not used")
    let line = host.log.split(separator: "\n").last {
      $0.contains("policy_file: '\(path)' \(fault)")
    }
    // With the file and the line of the key.
    expect(line?.contains("\(host.configurationPath):") ?? false, "\(host.log)")
    // The profile is there still, with the policy that it had.
    expect(try host.ask(), equals: before)
    let profiles = try host.ask(#"{"op":"status","profiles":true}"#)["Profiles"]
    expect(
      [0, 1].map { profiles?[$0]?["Profile"]?.text }, equals: ["default", "narrow"])
    if geteuid() == 0 {
      let told = try host.ask(#"{"op":"status"}"#)["Daemon"]?["ReloadError"]?.text
      expect(told?.contains("policy_file: '\(path)' \(fault)") ?? false, "\(told ?? "")")
    }
    try write(Self.policy, path)
    try host.reload()
    expect(try host.ask(#"{"op":"status"}"#)["Daemon"]?["ReloadError"] == nil)
  }
}
