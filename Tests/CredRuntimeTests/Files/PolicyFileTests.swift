import CredCore
import Foundation
import Glibc
import TestSupport
import Testing

@testable import CredRuntime

/// The file of a session policy, and who may change what it says.
struct PolicyFileTests {
  private static let policy =
    #"{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"a:b","Resource":"*"}}"#

  private let folder: TemporaryFolder
  /// `FOLDER/policies/team/p.json`, which nobody else may change.
  private let path: String

  init() throws {
    folder = try TemporaryFolder()
    path = try folder.write("policies/team/p.json", Self.policy)
    for name in ["", "/policies", "/policies/team"] { try set(0o755, folder.path + name) }
    try set(0o644, path)
  }

  private func set(_ mode: Int, _ path: String) throws {
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
  }

  private func link(_ name: String, to target: String) throws -> String {
    let link = "\(folder.path)/\(name)"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
    return link
  }

  /// Why a file is refused; nil if it is read.
  private func reason(_ path: String) -> String? {
    switch PolicyFile.read(path) {
    case .success: nil
    case .failure(let error): error.message
    }
  }

  @Test func whatIsSafeIsRead() throws {
    expect(try PolicyFile.read(path).get(), equals: Array(Self.policy.utf8))
    try set(0o600, path)
    expect(reason(path) == nil)
    try folder.write("policies/team/p.json", "\u{FEFF}" + Self.policy)
    expect(try PolicyFile.read(path).get(), equals: Array(Self.policy.utf8))
    expect(reason("/../\(folder.path)/./policies//team/../team/p.json") == nil)
  }

  @Test(arguments: [
    ("policies/team/p.json", 0o664), ("policies/team/p.json", 0o646), ("policies/team", 0o775),
    ("policies", 0o757),
  ])
  func whatOthersMayWriteIsRefused(_ name: String, _ mode: Int) throws {
    let place = "\(folder.path)/\(name)"
    try set(mode, place)
    expect(
      reason(path), equals: "is not safe: others may write to '\(place)'; 'chmod go-w' it")
    // A step away from the way.
    try FileManager.default.moveItem(
      atPath: path, toPath: folder.path + "/policy")
    try set(0o644, folder.path + "/policy")
    expect(reason(folder.path + "/policy") == nil)
  }

  /// The temporary files of these tests lie in such a folder, too.
  @Test func inAFolderWithTheStickyBitNobodyExchangesIt() throws {
    try set(0o1777, folder.path + "/policies")
    expect(reason(path) == nil)
    try set(0o1666, path)
    expect(reason(path)?.hasPrefix("is not safe: others may write to '\(path)'") ?? false)
  }

  @Test func anotherOwnerIsRefused() throws {
    var owner = geteuid()
    if owner == 0 {
      owner = 4242
      expect(unsafe chown(folder.path + "/policies", owner, 0), equals: 0)
    }
    func refusal(_ owners: Set<uid_t>) -> String? {
      if case .failure(let refusal) = PolicyFile.read(path, owners: owners) {
        refusal.reason
      } else {
        nil
      }
    }
    let place = geteuid() == 0 ? "/policies" : ""
    expect(
      refusal([0]),
      equals:
        "is not safe: '\(folder.path)\(place)' belongs to uid \(owner), not to root or credd's "
        + "user; 'chown root' it")
    expect(refusal([0, owner]) == nil)
    // Root itself is one of them: nobody needs trust in root.
    expect(refusal([owner])?.hasPrefix("is not safe: '/' belongs to uid 0") ?? false)
  }

  /// Whoever may exchange a link chooses the policy, however safe each of them is.
  @Test func aLinkThatOthersMayExchangeIsRefused() throws {
    for name in ["open", "held"] {
      try FileManager.default.createDirectory(
        atPath: "\(folder.path)/\(name)", withIntermediateDirectories: true)
    }
    try set(0o777, folder.path + "/open")
    try set(0o755, folder.path + "/held")
    let ways = [
      try link("open/direct", to: path), try link("open/relative", to: "../policies/team/p.json"),
      try link("held/two", to: "../open/direct"),
      try link("held/folder", to: folder.path + "/open")
        + "/direct",
    ]
    for way in ways {
      expect(
        reason(way),
        equals: "is not safe: others may write to '\(folder.path)/open'; 'chmod go-w' it", "\(way)")
    }
    let safe = [
      try link("held/direct", to: path), try link("held/relative", to: "../policies/team/p.json"),
      try link("held/policies", to: "../policies") + "/team/p.json",
    ]
    for way in safe { expect(reason(way) == nil, "\(way)") }
    expect(
      reason(try link("held/round", to: "round")),
      equals: "cannot be read: Too many levels of symbolic links")
  }

  @Test func whatIsNoFileOfTextIsRefused() throws {
    expect(reason(folder.path + "/none"), equals: "cannot be read: No such file or directory")
    expect(reason(path + "/x"), equals: "cannot be read: Not a directory")
    expect(reason(folder.path + "/policies"), equals: "is no regular file")
    let pipe = folder.path + "/pipe"
    expect(unsafe mkfifo(pipe, 0o600), equals: 0)
    expect(reason(pipe), equals: "is no regular file")
    for (text, fault) in [
      ("", "is empty"), ("{\0", "holds a NUL byte: save it as UTF-8"),
      (String(repeating: " ", count: (64 << 10) + 1), "is larger than 65536 bytes"),
    ] {
      try folder.write("policies/team/p.json", text)
      try set(0o644, path)
      expect(reason(path), equals: fault)
    }
  }

  /// With the file, the line and the key.
  @Test func aConfigurationWithSuchAPolicyIsNone() throws {
    let file = try folder.write(
      "credd.conf",
      """
      [profile narrow]
      source_profile = work
      policy_file = \(path)
      [profile work]
      identity_pool_id = us-east-1:11111111-2222-3333-4444-555555555555
      vend_credentials = no
      """)
    let safe = try ConfigurationFiles.read(file)
    expect(safe.configuration?.policies.keys.sorted(), equals: [path])
    try set(0o666, path)
    let reading = try ConfigurationFiles.read(file)
    expect(reading.configuration == nil)
    expect(
      reading.diagnostics.map(\.description),
      equals: [
        "\(file):3: policy_file: '\(path)' is not safe: others may write to '\(path)'; 'chmod go-w' it"
      ])
  }
}
