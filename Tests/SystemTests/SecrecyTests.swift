import Foundation
import TestSupport
import Testing

extension SystemTests {
  /// Secrets of two users, in the programs of the package under systemd.
  @Suite
  struct SecrecyTests {
    let machine: Machine

    init() throws { machine = try Machine.current() }

    /// What a user's replies hold: secrets by name, and the IdentityId.
    private func replies(of user: String) throws -> (secrets: [String: String], identity: String) {
      struct Reply: Decodable {
        var IdentityId, Token, SecretAccessKey, SessionToken: String?
      }
      let replies = try ["token", "get"].map {
        try JSONDecoder().decode(
          Reply.self, from: Data(try machine.sh("credctl \($0)", as: user).utf8))
      }
      var secrets: [String: String] = [:]
      for reply in replies {
        secrets["\(user)'s token"] = reply.Token ?? secrets["\(user)'s token"]
        secrets["\(user)'s key"] = reply.SecretAccessKey ?? secrets["\(user)'s key"]
        secrets["\(user)'s session"] = reply.SessionToken ?? secrets["\(user)'s session"]
      }
      try #require(secrets.count == 3)
      return (secrets, try #require(replies[0].IdentityId))
    }

    @Test(.enabled(if: MemoryScan.canBe, "reading credd's memory takes root"))
    func nothingIsLeftOfAUserThatSignedOutAndAllOfTheOther() throws {
      let (alice, bob) = try (replies(of: "alice"), replies(of: "bob"))
      let credd = MemoryScan(pid: try machine.process("credd"))
      let both = alice.secrets.merging(bob.secrets) { $1 }
      try machine.wait(for: "the secrets in memory") {
        let found = try credd.find(both)
        return both.allSatisfy { name, secret in
          found.contains { $0.hasPrefix(MemoryScan.whole(name, secret)) }
        }
      }
      try machine.sh("credctl logout", as: "alice")
      let calls = try machine.upstreamCalls
      // What the daemon does next overwrites its stack.
      try machine.wait(for: "alice's secrets to be gone") {
        _ = try machine.sh("credctl get", as: "bob")
        return try credd.find(alice.secrets, besides: Array(bob.secrets.values)).isEmpty
      }
      // Whole: a part of a token could be its header, which both users' have.
      let kept = try credd.find(bob.secrets, besides: Array(alice.secrets.values))
      for (name, secret) in bob.secrets {
        #expect(kept.contains { $0.hasPrefix(MemoryScan.whole(name, secret)) }, "\(name): \(kept)")
      }
      // They are the ones that he has had since the beginning.
      #expect(try machine.upstreamCalls == calls)
    }

    @Test func noUserSeesAnothersSecretsAndNeitherDoesTheJournal() throws {
      let (alice, bob) = try (replies(of: "alice"), replies(of: "bob"))
      #expect(Set(alice.secrets.values).isDisjoint(with: bob.secrets.values))
      #expect(alice.identity != bob.identity)
      let seen = try ["status --json", "status --all --json", "identity", "get --refresh"].map {
        let outcome = try machine.attempt("credctl \($0)", as: "bob")
        return outcome.output + outcome.errors
      }
      #expect(seen.contains { $0.contains(bob.identity) })
      for text in seen {
        #expect(!text.contains(alice.identity))
        #expect(!alice.secrets.values.contains { text.contains($0.prefix(20)) })
      }
      let journal = try machine.journalText()
      #expect(journal.contains("credd"))
      for secret in alice.secrets.merging(bob.secrets, uniquingKeysWith: { $1 }).values {
        #expect(!journal.contains(secret.prefix(20)))
      }
    }
  }
}
