import TestSupport
import Testing

extension SystemTests {
  /// Units that get their credentials by HTTP, with three lines and no secret.
  @Suite
  struct EndpointTests {
    let machine: Machine

    init() throws {
      machine = try Machine.current()
      // As the manual says: systemd cannot start a further socket of a service that runs.
      try machine.sh(
        """
        systemctl enable credd-endpoint.socket
        systemctl stop credd.service credd.socket credd-tokens.socket
        systemctl start credd.socket credd-tokens.socket credd-endpoint.socket
        """)
      try machine.write("/srv/fetch", Self.fetch)
    }

    /// What an SDK does: prints the access key, or the status.
    private static let fetch = """
      #!/bin/bash
      curl --silent --max-time 20 --output /tmp/reply --write-out '%{http_code} ' \\
        --header "Authorization: $(cat "$AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")" \\
        "$AWS_CONTAINER_CREDENTIALS_FULL_URI"
      grep -o '"AccessKeyId":"[A-Z0-9]*"' /tmp/reply || echo

      """

    /// systemd expands `%d` in files of units, but in version 252 not for `systemd-run`.
    private static func unit(_ properties: String, output: String, _ script: String) -> String {
      """
      [Service]
      Type=oneshot
      LoadCredential=credd.default:/run/credd-tokens/sock
      Environment=AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1:337/credentials/default
      Environment=AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=%d/credd.default
      \(properties)
      StandardOutput=truncate:\(output)
      ExecStart=/bin/bash \(script)

      """
    }

    /// Runs a command as a unit with the lines of docs/units.md, but for the region, which curl needs not.
    private func run(_ unit: String, _ properties: String, _ command: String) throws -> String {
      let (script, output) = ("/srv/\(unit).sh", "/run/\(unit).out")
      try machine.write(script, command + "\n")
      try machine.write(
        "/run/systemd/system/\(unit).service",
        Self.unit(properties, output: output, script))
      return try machine.sh(
        """
        systemctl daemon-reload
        systemctl start \(unit).service || true
        cat \(output)
        """)
    }

    @Test(arguments: [
      "DynamicUser=yes\nUser=alice-worker", "User=alice",
      "User=bob\nProtectSystem=strict\nPrivateNetwork=no\nPrivateTmp=yes\n"
        + "NoNewPrivileges=yes\nCapabilityBoundingSet=",
    ])
    func threeLinesInAUnitAreEnough(_ properties: String) throws {
      let output = try run("job", properties, "bash /srv/fetch")
      expect(output.hasPrefix("200 \"AccessKeyId\":"), "\(output)")
    }

    @Test func anotherUnitsTokenIsRefused() throws {
      let copy = try run(
        "giver", "User=alice", "cat $AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
      expect(copy.hasPrefix("credd1.s."))
      let output = try machine.sh(
        """
        systemd-run --quiet --wait --pipe --collect --unit=thief -p User=alice \
          curl --silent --output /dev/null --write-out '%{http_code}' \
          --header 'Authorization: \(copy)' http://127.0.0.1:337/credentials/default
        """)
      expect(output, equals: "401")
      let entries = try machine.journal("CREDD_UNIT=thief.service")
      expect(
        entries.contains { $0["MESSAGE"]?.contains("given to another user or unit") ?? false })
    }

    @Test func aTokenOutlivesARestartACrashAndAStop() throws {
      let token = try machine.sh("credctl endpoint", as: "alice")
      let ask = """
        eval "\(token.replacing("\"", with: "\\\""))"
        curl --silent --retry 5 --retry-all-errors --output /tmp/reply-$UID --write-out '%{http_code}' \
          --header "Authorization: $AWS_CONTAINER_AUTHORIZATION_TOKEN" \
          "$AWS_CONTAINER_CREDENTIALS_FULL_URI"
        """
      for event in [
        "true", "systemctl restart credd.service", "systemctl kill -s KILL credd.service",
        "systemctl stop credd.service",
      ] {
        try machine.sh(event)
        expect(try machine.sh(ask, as: "alice"), equals: "200", "\(event)")
        expect(try machine.sh(ask, as: "bob"), equals: "401", "\(event)")
      }
      try machine.sh("rm /run/credd-sessions/token-key && systemctl restart credd.service")
      expect(try machine.sh(ask, as: "alice"), equals: "401")
    }

    @Test func aUnitOfAUsersOwnManagerGetsATokenOfTheUser() throws {
      try machine.sh("loginctl enable-linger carol; systemctl start user@$(id -u carol).service")
      defer {
        _ = try? machine.run("loginctl disable-linger carol; systemctl stop user@$(id -u carol)")
      }
      try machine.write(
        "/srv/user-job.sh", "cat $AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE; echo; bash /srv/fetch\n")
      try machine.write(
        "/etc/systemd/user/job.service",
        Self.unit("", output: "%t/job.out", "/srv/user-job.sh"))
      let output = try machine.sh(
        """
        systemctl --user daemon-reload
        systemctl --user start job.service || true
        cat $XDG_RUNTIME_DIR/job.out
        """, as: "carol")
      expect(output.hasPrefix("credd1.u."))
      expect(output.contains("200 \"AccessKeyId\":"), "\(output)")
    }

    /// The unit starts, with a token, and the endpoint says that it is worth asking again.
    @Test func aWrongConfigurationStopsNoUnit() throws {
      try machine.sh("systemctl stop credd.service")
      try machine.configure("[nonsense]\n")
      let output = try run(
        "job", "User=alice",
        "cat $AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE; echo; bash /srv/fetch")
      expect(output.hasPrefix("credd1.s."))
      expect(output.contains("503"), "\(output)")
    }

    @Test func thePortIsNobodyElsesToTake() throws {
      try machine.sh("systemctl stop credd-endpoint.socket credd.service")
      let taken = try machine.attempt(
        "python3 -c 'import socket; socket.create_server((\"127.0.0.1\", 337))'", as: "alice")
      expect(taken.errors.contains("Permission denied"))
    }

    /// As everybody types it, while credd runs: systemd refuses, credd goes on, and the way of the
    /// manual works.
    @Test func enablingItWhileCreddRunsTakesTheWayOfTheManual() throws {
      try machine.sh(
        """
        systemctl disable --now credd-endpoint.socket
        systemctl stop credd.service
        systemctl start credd.socket credd-tokens.socket
        """)
      _ = try machine.sh("credctl get", as: "alice")
      let typed = try machine.attempt("systemctl enable --now credd-endpoint.socket", as: nil)
      expect(typed.status != 0)
      expect(try machine.sh("systemctl is-active credd.service").hasPrefix("active"))
      expect(try machine.sh("credctl get", as: "alice").contains("AccessKeyId"))
      try machine.sh(
        """
        systemctl stop credd.service credd.socket credd-tokens.socket
        systemctl start credd.socket credd-tokens.socket credd-endpoint.socket
        """)
      expect(try run("job", "User=alice", "bash /srv/fetch").hasPrefix("200 "))
    }

    /// As everybody types it, while nobody uses credd.
    @Test func enablingItWhileCreddRestsIsEnough() throws {
      try machine.sh(
        """
        systemctl disable --now credd-endpoint.socket
        systemctl stop credd.service
        systemctl start credd.socket credd-tokens.socket
        systemctl enable --now credd-endpoint.socket
        """)
      expect(try machine.property("ActiveState"), equals: "inactive")
      expect(try run("job", "User=alice", "bash /srv/fetch").hasPrefix("200 "))
      expect(try machine.sh("credctl get", as: "alice").contains("AccessKeyId"))
    }

    /// Who enables the service gets its sockets.
    @Test func enablingTheServiceOpensItsSockets() throws {
      let sockets = ["credd.socket", "credd-tokens.socket"]
      defer { _ = try? machine.run("systemctl enable \(sockets.joined(separator: " "))") }
      try machine.sh(
        """
        systemctl disable credd-endpoint.socket \(sockets.joined(separator: " "))
        systemctl stop credd.service credd-endpoint.socket \(sockets.joined(separator: " "))
        systemctl enable --now credd.service
        """)
      for unit in sockets {
        expect(try machine.property("ActiveState", of: unit), equals: "active")
        expect(try machine.sh("systemctl is-enabled \(unit)"), equals: "enabled")
      }
      expect(try machine.property("ActiveState", of: "credd-endpoint.socket"), equals: "inactive")
      expect(try machine.sh("credctl get", as: "alice").contains("AccessKeyId"))
      let token = try run("job", "User=alice", "cat $AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
      expect(token.hasPrefix("credd1.s."))
    }

    @Test func anUpgradeKeepsTheEndpointAndItsTokens() throws {
      let line = try machine.sh("credctl endpoint", as: "alice")
      let ask = """
        eval "\(line.replacing("\"", with: "\\\""))"
        curl --silent --retry 5 --retry-all-errors --output /dev/null --write-out '%{http_code}' \
          --header "Authorization: $AWS_CONTAINER_AUTHORIZATION_TOKEN" \
          "$AWS_CONTAINER_CREDENTIALS_FULL_URI"
        """
      expect(try machine.sh(ask, as: "alice"), equals: "200")
      let pid = try machine.property("MainPID")
      let sockets = ["credd.socket", "credd-tokens.socket", "credd-endpoint.socket"]
      func began() throws -> [String] {
        try sockets.map { try machine.property("ActiveEnterTimestampMonotonic", of: $0) }
      }
      let before = try began()
      // The package that is there, once more: postinst sees an upgrade.
      try machine.sh("dpkg --install /root/credd.deb")
      expect(try machine.property("MainPID") != pid)
      expect(try began(), equals: before)
      expect(try machine.sh(ask, as: "alice"), equals: "200")
      expect(try run("job", "User=alice", "bash /srv/fetch").hasPrefix("200 "))
    }

    /// A release without it: its daemon runs, and the new package brings the socket.
    @Test func anUpgradeOpensTheTokensSocketThoughCreddRuns() throws {
      try machine.sh(
        """
        systemctl stop credd.service credd-endpoint.socket credd-tokens.socket
        systemctl start credd.socket
        """)
      try machine.sh("mv /lib/systemd/system/credd-tokens.socket /root && systemctl daemon-reload")
      defer {
        _ = try? machine.run(
          "[ ! -e /root/credd-tokens.socket ] || mv /root/credd-tokens.socket /lib/systemd/system")
      }
      let key = try machine.accessKey(of: "alice")
      expect(try machine.property("ActiveState"), equals: "active")
      expect(try machine.attempt("test -e /run/credd-tokens/sock").status != 0)
      try machine.sh("dpkg --install /root/credd.deb")
      expect(try machine.property("ActiveState", of: "credd-tokens.socket"), equals: "active")
      expect(try machine.accessKey(of: "alice"), equals: key)
      let token = try run("job", "User=alice", "cat $AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
      expect(token.hasPrefix("credd1.s."))
    }

    @Test func twoUsersGetNothingByEachOthersToken() throws {
      let users = ["alice", "bob"]
      let lines = try users.map { try machine.sh("credctl endpoint", as: $0) }
      for (user, own) in zip(users, lines) {
        for line in lines {
          let status = try machine.sh(
            """
            eval "\(line.replacing("\"", with: "\\\""))"
            curl --silent --output /dev/null --write-out '%{http_code}' \
              --header "Authorization: $AWS_CONTAINER_AUTHORIZATION_TOKEN" \
              "$AWS_CONTAINER_CREDENTIALS_FULL_URI"
            """, as: user)
          expect(status, equals: (line == own ? "200" : "401"))
        }
      }
    }

    @Test func theTimerWritesTheMetrics() throws {
      try machine.sh(
        """
        getent group prometheus >/dev/null || groupadd --system prometheus
        mkdir -p /var/lib/prometheus/node-exporter
        systemctl start credd-metrics.service
        """)
      let file = "/var/lib/prometheus/node-exporter/credd.prom"
      expect(try machine.sh("stat --format '%a %G' \(file)").hasPrefix("640 prometheus"))
      expect(try machine.sh("cat \(file)").contains("credd_build_info"))
      try machine.sh(
        "systemctl start credd-metrics.timer && systemctl is-active credd-metrics.timer")
    }
  }
}
