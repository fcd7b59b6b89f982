import TestSupport
import Testing

extension SystemTests {
  /// The unit's sandbox is tight, and what credd does works within it.
  @Suite
  struct SandboxingTests {
    let machine: Machine

    init() throws { machine = try Machine.current() }

    @Test
    func exposureIsLow() throws {
      // In tenths.
      let analysis = try machine.attempt(
        "systemd-analyze security --threshold=16 --no-pager credd.service")
      expect(analysis.status, equals: 0, "\(analysis.output)")
      let overall = analysis.output.firstMatch(of: /exposure level for credd.service: ([0-9.]+)/)
      expect(overall.flatMap { Double($0.1) } ?? 10 <= 1.6)
    }

    @Test
    func unitsAreWithoutMistakes() throws {
      let verdict = try machine.attempt(
        """
        systemd-analyze verify --man=no credd.socket credd-tokens.socket credd-endpoint.socket \
          credd.service
        XDG_RUNTIME_DIR=/run systemd-analyze verify --man=no --user credd.socket credd.service
        """)
      expect(verdict.status, equals: 0)
      expect(verdict.errors.isEmpty, "\(verdict.errors)")
    }

    @Test
    func daemonHoldsNoPrivilege() throws {
      _ = try machine.accessKey(of: "alice")
      let status = try machine.sh("cat /proc/$(pidof credd)/status")
      let fields = Dictionary(
        status.split(separator: "\n").compactMap { line in
          line.wholeMatch(of: /(\w+):\s*(.*)/).map { (String($0.1), String($0.2)) }
        }, uniquingKeysWith: { $1 })
      for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        expect(fields[set]?.allSatisfy { $0 == "0" } == true, "\(set)")
      }
      expect(fields["NoNewPrivs"], equals: "1")
      expect(fields["Seccomp"], equals: "2")
      let limits = try machine.sh("cat /proc/$(pidof credd)/limits")
      expect(limits.contains(/Max core file size +0 +0/))
    }

    /// The backend has a name that only DNS knows, and a certificate for it.
    @Test
    func namesAreResolvedAndCertificatesVerified() throws {
      try serveNamesAndTLS()
      try machine.configure(
        """
        [backend corp]
        type = http
        url = https://auth.example.test:4600/token
        ca_file = /etc/credd/ca.pem

        \(Machine.profile("default", at: "http://127.0.0.1:4601"))
        """)
      _ = try machine.accessKey(of: "alice")
      // No other certificate is accepted.
      try machine.sh("cp /etc/ssl/certs/ISRG_Root_X1.pem /etc/credd/ca.pem")
      try machine.sh("systemctl restart credd.service")
      let refused = try machine.attempt("credctl get", as: "bob")
      expect(refused.status != 0)
      expect(refused.errors.lowercased().contains("certificate"))
    }

    @Test
    func usersOfEveryDirectoryHaveNames() throws {
      // A user that only systemd's own NSS module knows, over a socket of its own.
      let reply = try machine.sh(
        "systemd-run --quiet --wait --pipe --collect -p DynamicUser=yes --unit=passing credctl get")
      expect(reply.contains("AccessKeyId"))
      expect(try machine.sh("credctl status --all").contains("default  passing"))
    }

    @Test
    func backendOnAUnixSocket() throws {
      try machine.configure(
        """
        [backend corp]
        type = http
        url = http://localhost/token
        unix_socket = /run/sandbox/http.sock

        \(Machine.profile("default"))
        """)
      try machine.sh("chmod 666 /run/sandbox/http.sock")
      _ = try machine.accessKey(of: "alice")
    }

    @Test
    func backendThatIsACommand() throws {
      try machine.write(
        "/usr/local/lib/token",
        """
        #!/bin/sh
        id --user --name >&2
        exec curl --silent --fail --data @- --header 'Content-Type: application/json' \
          \(Machine.sandbox)/token
        """)
      try machine.sh("chmod 755 /usr/local/lib/token")
      try machine.configure(
        """
        [backend corp]
        type = exec
        command = /usr/local/lib/token

        \(Machine.profile("default"))
        """)
      _ = try machine.accessKey(of: "alice")
    }

    @Test
    func profileOfAUnitAlone() throws {
      try machine.sh(
        "sed -i '/^backend = corp/a allow_units = billing.service' /etc/credd/credd.conf")
      expect(try machine.attempt("credctl get", as: "alice").status, equals: 77)
      let run = "systemd-run --quiet --wait --pipe --collect --uid=alice"
      let billing = try machine.sh("\(run) --unit=billing credctl get")
      expect(billing.contains("AccessKeyId"))
      let other = try machine.attempt("\(run) --unit=other credctl get")
      expect(other.status, equals: 77)
    }

    private func serveNamesAndTLS() throws {
      try machine.write("/root/dns.py", Self.nameServer)
      try machine.sh(
        """
        cd /root
        openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=auth.example.test \
          -addext subjectAltName=DNS:auth.example.test -keyout key.pem -out ca.pem 2>/dev/null
        install -m 644 ca.pem /etc/credd/ca.pem
        install -m 644 key.pem /srv/key.pem
        printf 'nameserver 127.0.0.1\\n' >/etc/resolv.conf
        systemctl is-active --quiet names ||
          systemd-run --quiet --unit=names --service-type=exec python3 /root/dns.py
        systemctl stop tls 2>/dev/null || true
        systemd-run --quiet --collect --unit=tls --service-type=exec -p RuntimeDirectory=tls \
          /srv/credd/build/bin/credd-sandbox --port 4601 --tls-port 4600 \
          --tls-certificate /etc/credd/ca.pem --tls-key /srv/key.pem --users alice,bob \
          --ready-file /run/tls/ready
        """)
      try machine.wait(for: "TLS", until: "test -s /run/tls/ready")
    }

    /// Answers every question for an IPv4 address with 127.0.0.1, and others with nothing.
    private static let nameServer = """
      import socket
      server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
      server.bind(("127.0.0.1", 53))
      while True:
          query, client = server.recvfrom(512)
          end = query.index(0, 12) + 5
          is_a = query[end - 3] == 1
          answer = query[:2] + b"\\x81\\x80" + query[4:6] + bytes([0, is_a]) + bytes(4) + query[12:end]
          if is_a:
              answer += b"\\xc0\\x0c" + query[end - 4:end] + bytes([0, 0, 0, 9, 0, 4, 127, 0, 0, 1])
          server.sendto(answer, client)
      """
  }
}
