import Foundation
import TestSupport
import Testing

extension SystemTests {
  /// Secrets of two users, in the programs of the package under systemd.
  @Suite
  struct SecrecyTests {
    let machine: Machine

    init() throws { machine = try Machine.current() }

    @Test(.enabled(if: MemoryScan.canBe, "reading credd's memory takes root"))
    func nothingIsLeftOfAUserThatSignedOutAndAllOfTheOther() throws {
      let (alice, bob) = try (machine.replies(of: "alice"), machine.replies(of: "bob"))
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
        expect(kept.contains { $0.hasPrefix(MemoryScan.whole(name, secret)) }, "\(name): \(kept)")
      }
      // They are the ones that he has had since the beginning.
      expect(try machine.upstreamCalls, equals: calls)
    }

    @Test func noUserSeesAnothersSecretsAndNeitherDoesTheJournal() throws {
      let (alice, bob) = try (machine.replies(of: "alice"), machine.replies(of: "bob"))
      expect(Set(alice.secrets.values).isDisjoint(with: bob.secrets.values))
      expect(alice.identity != bob.identity)
      let alices = SecretSearch(alice.secrets, besides: Array(bob.secrets.values))
      var seen = try [
        "status --json", "status --all --json", "identity", "get --refresh", "get --user alice",
        "token --user alice",
      ].map {
        let outcome = try machine.attempt("credctl \($0)", as: "bob")
        return outcome.output + outcome.errors
      }
      seen.append(try watchedByBob())
      expect(seen.contains { $0.contains(bob.identity) })
      for text in seen {
        expect(!text.contains(alice.identity), "\(text)")
        expect(alices.found(in: Array(text.utf8)), equals: [], "\(text)")
      }
      let journal = try machine.wholeJournal()
      expect(journal.contains("credentials given"))
      let all = SecretSearch(alice.secrets.merging(bob.secrets) { $1 })
      expect(all.found(in: Array(journal.utf8)), equals: [])
    }

    /// What bob's `watch` says while alice gets new credentials.
    private func watchedByBob() throws -> String {
      let watched = try machine.attempt(
        """
        timeout 6 credctl watch &
        sleep 2
        credctl get --refresh >/dev/null
        wait
        """, as: "bob")
      let refreshed = try machine.attempt(
        """
        runuser -u bob -- timeout 5 credctl watch &
        sleep 2
        runuser -u alice -- credctl get --refresh >/dev/null || echo alice got none
        wait
        """)
      expect(!refreshed.output.contains("alice got none"), "\(refreshed)")
      // He hears of his own.
      expect(watched.output.contains("refreshed"), "\(watched)")
      return watched.output + watched.errors + refreshed.output + refreshed.errors
    }

    /// Not even of a password, after a restart and at the end.
    @Test func noSecretIsOnDisk() throws {
      try machine.configurePasswords()
      for user in ["alice", "bob"] { try machine.logIn(user) }
      var secrets = ["alice-password", "bob-password"]
      func note() throws {
        for user in ["alice", "bob"] {
          let (some, _) = try machine.replies(of: user)
          secrets += some.values
        }
      }
      try note()
      try machine.sh("systemctl restart credd.service")
      try note()
      _ = try machine.accessKey(of: "alice", "--refresh")
      try machine.sh("systemctl stop credd.service")
      // In memory. The first file shows that the search finds one.
      try machine.sh("cat >/run/secrets", input: secrets.joined(separator: "\n") + "\n")
      try machine.sh("head -n 1 /run/secrets >/var/tmp/found")
      let found = try machine.sh(
        """
        find /var /etc /tmp /home /root -xdev -type f -newer /root/began \
          -exec grep -laF -f /run/secrets -- {} + || true
        rm -f /run/secrets /var/tmp/found
        """)
      expect(found, equals: "/var/tmp/found")
      expect(try machine.sh("find /var/lib/credd -type f -newer /root/began") != "")
    }
  }
}
