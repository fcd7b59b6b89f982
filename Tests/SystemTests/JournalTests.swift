import TestSupport
import Testing

extension SystemTests {
  /// What an operator finds in the journal and in `systemctl status`.
  @Suite
  struct JournalTests {
    let machine: Machine

    init() throws { machine = try Machine.current() }

    /// The id of "credentials given".
    private let given = "MESSAGE_ID=fa49fa7d50a447f891a95eaa44ec9dd5"

    @Test
    func usersThatGotCredentialsAreOnRecord() throws {
      let uid = try machine.sh("id --user alice")
      let run = "systemd-run --quiet --wait --pipe --collect --uid=alice --unit=billing"
      let reply = try machine.sh("\(run) credctl get")
      let entries = try machine.journal("\(given) CREDD_PROFILE=default CREDD_UID=\(uid)")
      expect(entries.count, equals: 1)
      let entry = try #require(entries.first)
      expect(entry["CREDD_UNIT"], equals: "billing.service")
      expect(entry["CREDD_USER"], equals: "alice")
      expect(Int(entry["CREDD_PID"] ?? "") != nil)
      expect(entry["CREDD_IDENTITY"]?.hasPrefix("us-east-1:") == true)
      expect(reply.contains(try #require(entry["CREDD_EXPIRATION"])))
      expect(entry["PRIORITY"], equals: "6")
      expect(entry["_SYSTEMD_UNIT"], equals: "credd.service")
      let explained = try machine.sh("journalctl --catalog --unit=credd.service \(given)")
      expect(explained.contains("Credentials were handed to a process"))
    }

    @Test
    func nothingSecretIsOnRecord() throws {
      try machine.configurePasswords()
      var secrets: [String: String] = [:]
      for user in ["alice", "bob"] {
        try machine.logIn(user)
        secrets.merge(try machine.replies(of: user).secrets) { $1 }
      }
      // Cognito repeats the token that it was sent.
      let token = try #require(secrets["alice's token"])
      try machine.sh("credctl clear credentials", as: "alice")
      try machine.sh(
        "curl --silent --fail --data @- \(Machine.sandbox)/control/fault",
        input: #"{"Service":"cognito","Kind":"status","Status":400,"#
          + #""Error":"InvalidParameterException","Message":"bad \#(token)","Count":-1}"#)
      let refused = try machine.attempt("credctl get --wait 5", as: "alice")
      expect(refused.status != 0)
      let journal = try machine.wholeJournal()
      expect(journal.contains("credentials given"))
      expect(journal.contains("InvalidParameterException"))
      let texts = [journal, refused.output, refused.errors]
      for text in texts {
        expect(SecretSearch(secrets).found(in: Array(text.utf8)), equals: [])
        for user in ["alice", "bob"] { expect(!text.contains("\(user)-password")) }
      }
    }

    @Test
    func statusSaysWhatGoesOn() throws {
      // What was asked for twice is renewed.
      for user in ["alice", "bob", "alice", "bob"] { _ = try machine.accessKey(of: user) }
      // It is told at most every few seconds.
      try machine.wait(for: "the status") {
        try machine.property("StatusText").hasPrefix("2 sessions, next refresh at ")
      }
      expect(try machine.sh("systemctl status credd.service").contains("Status: \"2 sessions"))
    }

    @Test
    func callersUnitIsShownToAdministrators() throws {
      let run = "systemd-run --quiet --wait --pipe --collect --uid=alice --unit=billing"
      try machine.sh("\(run) credctl get")
      let status = try machine.sh("credctl status --all --json")
      expect(status.contains("\"Unit\":\"billing.service\""))
    }
  }
}
