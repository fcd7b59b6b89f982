import Foundation
import Testing
import TestSupport

extension TestHost {
  private func found(_ secrets: [String: String], _ besides: [String]) throws -> [String] {
    try MemoryScan(pid: daemon.pid).find(secrets, besides: besides)
  }

  /// That each secret is found in the daemon: else a test that finds none says nothing.
  func expectAll(_ secrets: [String: String], besides: [String] = []) throws {
    #expect(!secrets.isEmpty)
    try Deadline.usual.wait(for: "all of \(secrets.keys.sorted()) in memory") {
      let found = try found(secrets, besides)
      return secrets.keys.allSatisfy { name in found.contains { $0.hasPrefix(name + " ") } }
    }
  }

  /// That no part of a secret is found, a moment later: connections are dropped, and stacks
  /// overwritten, by what the daemon does next.
  ///
  /// - Parameter besides: what may be there.
  func expectNone(_ secrets: [String: String], besides: [String] = []) throws {
    for secret in secrets.values { #expect(secret.utf8.count >= MemoryScan.tooMany) }
    var left: [String] = []
    try? Deadline.in(.seconds(5)).wait(for: "secrets to be gone") {
      left = try found(secrets, besides)
      return left.isEmpty
    }
    #expect(left == [])
    for (name, secret) in secrets { #expect(try manager?.holds(secret) != true, "\(name)") }
  }

  /// The bearer token of the last callback, without its scheme.
  func bearer() throws -> String {
    let request = try sandbox.lastRequest("backend.token")
    let text = try #require(request["Headers"]?["Authorization"]?.text)
    return String(try #require(text.split(separator: " ").last))
  }
}

extension JSON {
  /// What of a reply is secret, by name.
  func secrets(_ name: String = "") -> [String: String] {
    var secrets: [String: String] = [:]
    for key in ["Token", "SecretAccessKey", "SessionToken"] {
      if let text = self[key]?.text { secrets[name + key] = text }
    }
    return secrets
  }
}

/// A new secret, no part of which is a word.
func newSecret(_ length: Int = 24) -> String {
  String(
    (0..<length).map { _ in
      "bcdfghjklmnpqrstvwxzBCDFGHJKLMNPQRSTVWXZ23456789".randomElement() ?? "x"
    })
}

extension Configuration {
  /// A seed file for the sandbox, with these members.
  static func seed(_ members: String) throws -> [String] {
    let seed = try Stage.current().newFile("seed.json")
    try Data("{\(members)}".utf8).write(to: URL(filePath: seed))
    return ["--config", seed]
  }
}
