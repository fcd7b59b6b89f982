import Foundation
import Testing

@testable import DaemonHarness

/// A network of our own: two namespaces and a cable between them, with credd at one end and the
/// sandbox's Unix socket, behind a forwarder, at the other. It is gone with the test.
struct Link {
  static let url = "http://10.77.0.2:8080"
  /// The same by a name that only ``hosts`` knows.
  static let namedURL = "http://upstream.test:8080"

  /// Root makes namespaces, and the programs are installed.
  static var canBe: Bool {
    geteuid() == 0 && forwarder != nil
      && ["unshare", "nsenter", "ip", "tc", "nft", "systemd-socket-activate"].allSatisfy {
        Programs.installed($0) != nil
      }
  }

  private static let forwarder = ["/usr/lib/systemd", "/lib/systemd"]
    .map { $0 + "/systemd-socket-proxyd" }
    .first { FileManager.default.isExecutableFile(atPath: $0) }

  /// Whether the kernel has what a disorderly cable is made of.
  static let hasTUN = FileHandle(forUpdatingAtPath: "/dev/net/tun") != nil

  private let near: ChildProcess
  let far: ChildProcess
  /// The program that is the cable, if it is to be disorderly. Otherwise the kernel's is enough.
  let cable: ChildProcess?
  /// What is `/etc/hosts` for the near side.
  private let hosts: String

  /// - Parameter isDisorderly: whether the cable can lose and disorder packets.
  init(to unixSocket: String, isDisorderly: Bool = false) throws {
    let stage = try Stage.current()
    hosts = stage.newFile("hosts")
    let resolver = stage.newFile("resolv.conf")
    // No server listens there, and the kernel says so.
    try Data("nameserver 10.77.0.2\noptions timeout:1 attempts:1\n".utf8)
      .write(to: URL(filePath: resolver))
    try Data().write(to: URL(filePath: hosts))
    let unshare = try #require(Programs.installed("unshare"))
    near = try ChildProcess([
      unshare, "-n", "-m", "/bin/sh", "-c",
      "ip link set lo up && mount --bind '\(hosts)' /etc/hosts && "
        + "mount --bind '\(resolver)' /etc/resolv.conf && exec sleep infinity",
    ])
    far = try ChildProcess([
      unshare, "-n", "/bin/sh", "-c",
      "ip link set lo up && exec systemd-socket-activate --listen=0.0.0.0:8080 "
        + "'\(try #require(Self.forwarder))' '\(unixSocket)'",
    ])
    for (process, name) in [(near, "sleep"), (far, "systemd-socket")] {
      try Deadline.usual.wait(for: "a namespace") {
        try process.status == nil
          && String(contentsOfFile: "/proc/\(process.pid)/comm", encoding: .utf8).hasPrefix(name)
      }
    }
    cable = isDisorderly ? try Self.disorderlyCable(near, far) : nil
    if cable == nil {
      try onNearSide(
        "ip", "link", "add", "near", "type", "veth", "peer", "name", "far", "netns",
        String(far.pid))
    }
    try configure()
    try nameIsKnown(true)
  }

  private static func disorderlyCable(
    _ near: ChildProcess, _ far: ChildProcess
  ) throws -> ChildProcess {
    let python = try #require(Programs.installed("python3"))
    let script = Repository.root.appending(path: "Tests/Data/Lines/disorder.py").path
    let cable = try ChildProcess([python, script, String(near.pid), String(far.pid)])
    try Deadline.usual.wait(for: "the cable") {
      if let status = cable.status { throw Overdue("the cable, which ended with \(status)") }
      return cable.output == "laid\n"
    }
    return cable
  }

  private func configure() throws {
    try onNearSide("ip", "addr", "add", "10.77.0.1/29", "dev", "near")
    try onNearSide("ip", "link", "set", "near", "up")
    try onFarSide("ip", "addr", "add", "10.77.0.2/29", "dev", "far")
    try onFarSide("ip", "link", "set", "far", "up")
  }

  /// The words before a command that make it run at the near end.
  var prefix: [String] {
    get throws {
      [try #require(Programs.installed("nsenter")), "-t", String(near.pid), "-n", "-m", "--"]
    }
  }

  func nameIsKnown(_ isKnown: Bool) throws { try nameHas(isKnown ? ["10.77.0.2"] : []) }

  /// Puts an address before the one that works, which drops each request for a connection.
  func nameHasADeadAddress() throws {
    let dead = "10.77.0.3"
    try onFarSide("ip", "addr", "add", "\(dead)/29", "dev", "far")
    try onFarSide("nft", "add table ip dead")
    try onFarSide("nft", "add chain ip dead in { type filter hook input priority 0 ; }")
    try onFarSide("nft", "add rule ip dead in ip daddr \(dead) tcp flags syn drop")
    try nameHas([dead, "10.77.0.2"])
  }

  private func nameHas(_ addresses: [String]) throws {
    // The same file: it is mounted.
    let file = try FileHandle(forWritingTo: URL(filePath: hosts))
    try file.truncate(atOffset: 0)
    try file.write(contentsOf: Data(addresses.map { "\($0) upstream.test\n" }.joined().utf8))
    try file.close()
  }

  func onNearSide(_ words: String...) throws { try run(near, words) }
  func onFarSide(_ words: String...) throws { try run(far, words) }

  func run(_ side: ChildProcess, _ words: [String]) throws { _ = try output(side, words) }

  func output(_ side: ChildProcess, _ words: [String]) throws -> String {
    let nsenter = try #require(Programs.installed("nsenter"))
    let program = try #require(Programs.installed(words[0]), "\(words[0]) is not installed")
    let process = try ChildProcess(
      [nsenter, "-t", String(side.pid), "-n", "--", program] + words.dropFirst())
    let status = try process.wait()
    guard status == 0 else { throw Refused(words: words, errors: process.errors) }
    return process.output
  }

  struct Refused: Error {
    let words: [String]
    let errors: String
  }
}
