import Foundation
import Testing
import TestSupport

extension TestHost {
  private func found(_ secrets: [String: String], _ besides: [String]) throws -> [String] {
    try MemoryScan(pid: daemon.pid).find(secrets, besides: besides)
  }

  /// That each secret is found in the daemon, whole: else a test that finds none says nothing.
  func expectAll(_ secrets: [String: String]) throws {
    expect(!secrets.isEmpty)
    // It is the program that is meant, whatever was in front of its name.
    expect(
      try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(daemon.pid)/exe"),
      equals: URL(filePath: Programs.credd).resolvingSymlinksInPath().path)
    var seen: [String] = []
    do {
      try Deadline.usual.wait(for: "all of \(secrets.keys.sorted()) in memory") {
        seen = try found(secrets, [])
        return secrets.allSatisfy { name, secret in
          seen.contains { $0.hasPrefix(MemoryScan.whole(name, secret)) }
        }
      }
    } catch {
      Issue.record("only \(seen)")
      throw error
    }
    noteInMemory(secrets)
  }

  /// That no part of a secret is found, a moment later: connections are dropped, and stacks
  /// overwritten, by what the daemon does next.
  ///
  /// Each must have been seen there before, or have been used in a way that proves it was.
  ///
  /// - Parameter besides: what may be there.
  func expectNone(_ secrets: [String: String], besides: [String] = []) throws {
    for (name, secret) in secrets {
      expect(secret.utf8.count >= MemoryScan.tooMany)
      expect(inMemory.contains(secret), "\(name) was never seen in memory")
    }
    var left: [String] = []
    try? Deadline.in(.seconds(5)).wait(for: "secrets to be gone") {
      left = try found(secrets, besides)
      return left.isEmpty
    }
    expect(left, equals: [])
    for (name, secret) in secrets { expect(try manager?.holds(secret) != true, "\(name)") }
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
      if let text = self[key]?.text {
        secrets[name + key] = text
        (try? Stage.current())?.note(secret: text)
      }
    }
    return secrets
  }
}

/// A new secret, no part of which is a word.
func newSecret(_ length: Int = 24) -> String {
  let secret = String(
    (0..<length).map { _ in
      "bcdfghjklmnpqrstvwxzBCDFGHJKLMNPQRSTVWXZ23456789".randomElement() ?? "x"
    })
  (try? Stage.current())?.note(secret: secret)
  return secret
}

extension Configuration {
  /// A seed file for the sandbox, with these members.
  static func seed(_ members: String) throws -> [String] {
    let seed = try Stage.current().newFile("seed.json")
    try Data("{\(members)}".utf8).write(to: URL(filePath: seed))
    return ["--config", seed]
  }
}
