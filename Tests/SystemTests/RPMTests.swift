import Foundation
import TestSupport
import Testing

extension SystemTests {
  /// The RPM's life: installation, upgrade, removal. The machine is no host of RPM's, so that rpm has a
  /// database of its own there, and no package that has the libraries.
  @Suite(.enabled(if: Machine.newest("credd-", "rpm") != nil, "needs the RPM: run 'make rpm'"))
  struct RPMTests {
    private static let package = Machine.newest("credd-", "rpm")
    private static let rpm = "rpm --force-debian --nodeps"
    private static let file = "/srv/credd/build/\(package ?? "")"
    private static let sockets = ["credd.socket", "credd-tokens.socket"]
    private static let others = ["credd-endpoint.socket", "credd-metrics.timer"]

    let machine: Machine

    init() throws { machine = try Machine.current() }

    /// In place of the Debian package, on a host that has never had credd.
    private func withRPM(presets: String = "", _ body: () throws -> Void) throws {
      let preset = "/etc/systemd/system-preset/50-test.preset"
      try machine.sh("dpkg --purge credd && rm -rf /etc/credd && userdel credd")
      defer {
        _ = try? machine.run(
          """
          \(Self.rpm) --erase credd
          rm -rf /etc/credd \(preset)
          dpkg --install /root/credd.deb
          """)
        _ = try? machine.reset()
      }
      if !presets.isEmpty { try machine.write(preset, presets) }
      try machine.sh("rpm --initdb && \(Self.rpm) --install \(Self.file)")
      try body()
    }

    /// As an upgrade runs the scripts.
    private func upgrade() throws {
      try machine.sh("\(Self.rpm) --upgrade --replacepkgs \(Self.file)")
    }

    private func states(_ units: [String], _ property: String) throws -> [String] {
      try units.map { try machine.property(property, of: $0) }
    }

    @Test
    func installationIsWholeAndListens() throws {
      try withRPM {
        expect(try machine.attempt("rpm --verify --nodeps credd").output, equals: "")
        expect(
          try machine.sh("stat --format='%U:%G %a' /etc/credd/credd.conf"), equals: "root:credd 640"
        )
        expect(try states(Self.sockets, "UnitFileState"), equals: ["enabled", "enabled"])
        expect(try states(Self.sockets, "ActiveState"), equals: ["active", "active"])
        expect(try states(Self.others, "UnitFileState"), equals: ["disabled", "disabled"])
        expect(try states(Self.others, "ActiveState"), equals: ["inactive", "inactive"])
        let verified = try machine.attempt(
          "systemd-analyze verify /usr/lib/systemd/system/credd*.{service,socket,timer}")
        expect(verified.status == 0 && verified.errors.isEmpty, "\(verified)")
        try machine.reset()
        expect(try machine.accessKey(of: "alice").hasPrefix("ASIA"))
      }
    }

    @Test
    func anAdministratorsPresetIsKept() throws {
      try withRPM(presets: "disable credd.socket\nenable credd-metrics.timer\n") {
        expect(try machine.property("UnitFileState", of: "credd.socket"), equals: "disabled")
        expect(try machine.property("ActiveState", of: "credd.socket"), equals: "inactive")
        expect(try machine.property("UnitFileState", of: "credd-metrics.timer"), equals: "enabled")
      }
    }

    @Test
    func upgradeKeepsSessionsAndConfiguration() throws {
      try withRPM {
        try machine.reset()
        let key = try machine.accessKey(of: "alice")
        let (calls, pid) = try (machine.upstreamCalls, machine.property("MainPID"))
        let listening = try machine.property("ActiveEnterTimestampMonotonic", of: "credd.socket")
        let configuration = try machine.sh("cat /etc/credd/credd.conf")
        try upgrade()
        expect(try machine.sh("cat /etc/credd/credd.conf"), equals: configuration)
        expect(try machine.property("MainPID") != pid)
        expect(
          try machine.property("ActiveEnterTimestampMonotonic", of: "credd.socket"),
          equals: listening)
        expect(try machine.accessKey(of: "alice"), equals: key)
        expect(try machine.upstreamCalls, equals: calls)
      }
    }

    @Test
    func upgradeStartsNothingThatWasStoppedOrDisabled() throws {
      try withRPM {
        try machine.sh(
          """
          systemctl stop credd.service credd.socket credd-tokens.socket
          systemctl disable --quiet credd-tokens.socket
          """)
        try upgrade()
        expect(
          try states(Self.sockets + ["credd.service"], "ActiveState"),
          equals: ["inactive", "inactive", "inactive"])
        expect(try states(Self.sockets, "UnitFileState"), equals: ["enabled", "disabled"])
      }
    }

    @Test
    func removalStopsAndKeepsWhatOthersKnow() throws {
      try withRPM {
        try machine.reset()
        _ = try machine.accessKey(of: "alice")
        try machine.sh("systemctl enable --now credd-metrics.timer")
        let uid = try machine.sh("id --user credd")
        try machine.sh("\(Self.rpm) --erase credd")
        expect(try machine.attempt("pidof credd").status, equals: 1)
        expect(try machine.attempt("test -e /run/credd/credd.sock").status, equals: 1)
        expect(try machine.attempt("test -e /run/credd-sessions").status, equals: 1)
        let units = "find /etc/systemd /usr/lib /usr/share /var/lib/systemd -name 'credd*'"
        expect(try machine.sh(units), equals: "")
        expect(try machine.attempt("test -s /etc/credd/credd.conf.rpmsave").status, equals: 0)
        expect(try machine.attempt("test -d /var/lib/credd").status, equals: 0)
        expect(try machine.sh("id --user credd"), equals: uid, "its uid may not become another's")
      }
    }
  }
}
