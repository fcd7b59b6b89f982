import TestSupport
import Testing

extension SystemTests {
  /// Secrets for the daemon, through systemd's credentials.
  @Suite
  struct SecretsTests {
    let machine: Machine

    init() throws { machine = try Machine.current() }

    /// A backend that wants to know which host asks.
    private func configure() throws {
      try machine.sh(
        """
        systemctl is-active --quiet strict ||
          systemd-run --quiet --unit=strict --service-type=exec -p RuntimeDirectory=strict \
            /srv/credd/build/bin/credd-sandbox --port 4602 --users alice,bob \
            --backend-token of-this-host --ready-file /run/strict/ready
        """)
      try machine.wait(for: "the backend", until: "test -s /run/strict/ready")
      try machine.configure(
        """
        [backend corp]
        type = http
        url = http://127.0.0.1:4602/token
        bearer_token_file = ${CREDENTIALS_DIRECTORY}/corp-token

        [profile default]
        identity_pool_id = \(Machine.pool)
        developer_provider = login.example.app
        backend = corp
        cognito_endpoint = http://127.0.0.1:4602

        """)
    }

    @Test
    func tokenOfAFileThatOnlyRootReads() throws {
      try configure()
      try machine.sh("install -m 600 /dev/stdin /root/token", input: "of-this-host\n")
      try machine.dropIn(
        "credd.service", "[Service]\nLoadCredential=corp-token:/root/token\n")
      _ = try machine.accessKey(of: "alice")
    }

    /// `ExecReload=` does not see the credentials of a unit with a mount namespace.
    @Test
    func reloadWithACredential() throws {
      try configure()
      try machine.sh("install -m 600 /dev/stdin /root/token", input: "of-this-host\n")
      try machine.dropIn(
        "credd.service", "[Service]\nLoadCredential=corp-token:/root/token\n")
      let key = try machine.accessKey(of: "alice")
      let more = "/etc/credd/credd.conf.d/more.conf"
      try machine.sh("mkdir -p /etc/credd/credd.conf.d")
      defer { _ = try? machine.run("rm -r /etc/credd/credd.conf.d") }
      try machine.write(more, Machine.profile("more"))
      try machine.sh("systemctl reload credd.service && credctl identity --profile more")
      expect(try machine.accessKey(of: "alice"), equals: key)
      // The daemon finds one that the unit does not load, and changes nothing.
      let other = """
        [backend other]
        type = http
        url = http://127.0.0.1:4602/token
        bearer_token_file = ${CREDENTIALS_DIRECTORY}/none

        """
      try machine.write(more, other + Machine.profile("third", backend: "other"))
      _ = try machine.attempt("systemctl reload credd.service")
      expect(try machine.attempt("credctl identity --profile third").status != 0)
      expect(
        try machine.journalText().contains("cannot open '/run/credentials/credd.service/none'"))
      expect(try machine.property("StatusText").contains("configuration not reloaded"))
      expect(try machine.accessKey(of: "alice"), equals: key)
    }

    /// The check sees while the service runs what systemd has loaded.
    @Test
    func aCredentialOfAnotherNameIsSaidAtTheStartAndByTheCheck() throws {
      try configure()
      try machine.sh("install -m 600 /dev/stdin /root/token", input: "of-this-host\n")
      try machine.dropIn(
        "credd.service", "[Service]\nLoadCredential=corp_token:/root/token\n")
      try machine.sh("systemctl start credd.service")
      let fault =
        "cannot open '/run/credentials/credd.service/corp-token': No such file or directory; "
        + "systemd loaded 'corp_token': name it in the unit, as LoadCredential=corp-token:FILE"
      try machine.wait(for: "the warning") { try machine.journalText().contains(fault) }
      let check = try machine.attempt("credd --check-config")
      expect(check.status, equals: 78, "\(check.errors)")
      expect(check.errors.contains(fault), "\(check.errors)")
    }

    @Test
    func encryptedToken() throws {
      try configure()
      try machine.sh(
        "systemd-creds encrypt --with-key=host --name=corp-token - /etc/credd/corp-token.cred",
        input: "of-this-host\n")
      try machine.dropIn(
        "credd.service",
        "[Service]\nLoadCredentialEncrypted=corp-token:/etc/credd/corp-token.cred\n")
      _ = try machine.accessKey(of: "alice")
      expect(try machine.attempt("grep -r of-this-host /etc/credd").status, equals: 1)
    }

    /// Without the credential the backend is not asked without a token.
    @Test
    func missingTokenIsNamed() throws {
      try configure()
      try machine.sh("systemctl start credd.service || true")
      let outcome = try machine.attempt("credctl get", as: "alice")
      expect(outcome.status != 0)
      expect((try machine.journalText() + outcome.errors).contains("CREDENTIALS_DIRECTORY"))
    }
  }
}
