import CredctlKit
import Foundation
import TestSupport
import Testing

@testable import credctl

struct EndpointFilesTests {
  private func withFiles(_ files: [String: String], _ body: (EndpointFiles) throws -> Void) throws {
    let root = URL(filePath: NSTemporaryDirectory()).appending(path: "credctl-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: root) }
    for (path, text) in files {
      let file = root.appending(path: path)
      try FileManager.default.createDirectory(
        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(text.utf8).write(to: file)
    }
    try body(EndpointFiles(root: root.path))
  }

  private static let table = """
      sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
       0: 0100007F:0151 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 12 1 0 10

    """

  @Test func theHolderOfThePortIsNamed() throws {
    let files = [
      "proc/net/tcp": Self.table, "etc/passwd": "bob:x:1001:1001::/:\n", EndpointUnit.link: "",
    ]
    try withFiles(files) {
      expect($0.isEnabled)
      expect($0.holder, equals: "user bob")
    }
    try withFiles(["proc/net/tcp6": Self.table]) {
      expect(!$0.isEnabled)
      expect($0.holder, equals: "uid 1001")
    }
    try withFiles(["etc/passwd": ""]) { expect($0.holder == nil) }
  }

  /// The link of a unit that was removed leads nowhere.
  @Test func aLinkEnablesTheUnitWhereverItLeads() throws {
    try withFiles(["etc/passwd": ""]) { files in
      let link = files.root + EndpointUnit.link
      try FileManager.default.createDirectory(
        atPath: (link as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
      try FileManager.default.createSymbolicLink(
        atPath: link, withDestinationPath: "/nowhere/credd-endpoint.socket")
      expect(files.isEnabled)
    }
  }
}
