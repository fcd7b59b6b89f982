import TestSupport
import Testing

extension SystemTests {
  /// The package's life: upgrade, removal, purge.
  @Suite
  struct PackageTests {
    let machine: Machine

    init() throws { machine = try Machine.current() }

    @Test
    func upgradeKeepsSessionsAndConfiguration() throws {
      let key = try machine.accessKey(of: "alice")
      let (calls, pid) = try (machine.upstreamCalls, machine.property("MainPID"))
      let listening = try machine.property("ActiveEnterTimestampMonotonic", of: "credd.socket")
      let configuration = try machine.sh("cat /etc/credd/credd.conf")
      // The same programs under a higher version.
      try machine.sh(
        """
        cd /root
        rm -rf newer && dpkg-deb --raw-extract credd.deb newer
        sed -i 's/^Version: .*/&+newer/' newer/DEBIAN/control
        dpkg-deb --root-owner-group -Znone --build newer newer.deb
        dpkg --install newer.deb
        """)
      defer { _ = try? machine.run("dpkg --install /root/credd.deb") }
      let installed = try machine.sh("dpkg-query --show --showformat='${Version}' credd")
      expect(installed.hasSuffix("+newer"))
      expect(try machine.sh("cat /etc/credd/credd.conf"), equals: configuration)
      expect(try machine.property("MainPID") != pid)
      expect(
        try machine.property("ActiveEnterTimestampMonotonic", of: "credd.socket"), equals: listening
      )
      expect(try machine.accessKey(of: "alice"), equals: key)
      expect(try machine.upstreamCalls, equals: calls)
    }

    /// What the tests of secrets look through is what users install.
    @Test
    func programsAreTheStrippedOnesOfTheBuild() throws {
      for program in ["credd", "credctl"] {
        try machine.sh("cmp /usr/bin/\(program) /srv/credd/build/bin/\(program)")
        let sections = try machine.sh("readelf --section-headers --wide /usr/bin/\(program)")
        expect(sections.contains(" .text "))
        expect(!sections.contains(" .symtab ") && !sections.contains(" .debug_info "))
      }
    }

    @Test
    func removalStopsAndPurgeForgets() throws {
      _ = try machine.accessKey(of: "alice")
      defer { _ = try? machine.run("dpkg --install /root/credd.deb") }
      let uid = try machine.sh("id --user credd")
      try machine.sh("dpkg --remove credd")
      expect(try machine.attempt("pidof credd").status, equals: 1)
      expect(try machine.attempt("test -e /run/credd/credd.sock").status, equals: 1)
      expect(try machine.sh("ls /etc/credd/credd.conf").isEmpty == false)
      expect(try machine.attempt("test -d /var/lib/credd").status, equals: 0)
      try machine.sh("dpkg --purge credd")
      expect(try machine.attempt("test -e /var/lib/credd || test -e /etc/credd").status, equals: 1)
      expect(try machine.sh("find /etc/systemd /usr/lib /var/lib/systemd -name 'credd*'").isEmpty)
      expect(try machine.sh("id --user credd"), equals: uid, "its uid may not become another's")
      // And it can come back.
      try machine.sh("dpkg --install /root/credd.deb")
      expect(try machine.sh("systemctl is-active credd.socket"), equals: "active")
    }

    /// It may hold secrets. An administrator may decide otherwise.
    @Test
    func theConfigurationIsForRootAndTheService() throws {
      let file = "/etc/credd/credd.conf"
      let mode = "stat --format='%U:%G %a' \(file)"
      try machine.sh("dpkg --purge credd && dpkg --install /root/credd.deb")
      defer {
        _ = try? machine.run("chown root:credd \(file); chmod 640 \(file)")
        _ = try? machine.reset()
      }
      expect(try machine.sh(mode), equals: "root:credd 640")
      expect(try machine.sh("stat --format='%U:%G %a' /etc/credd"), equals: "root:root 755")
      let person = try machine.attempt("credd --check-config", as: "alice")
      expect(person.status, equals: 78)
      expect(
        person.errors, equals: "cannot read \(file): Permission denied: run this check as root\n")
      let root = try machine.attempt("credd --check-config")
      expect(
        root.output,
        equals: "\(file): no profile, so nothing can be asked for; no errors, 1 warning\n")
      // An upgrade changes nothing of it.
      try machine.sh("chown root:root \(file); chmod 644 \(file); dpkg --install /root/credd.deb")
      expect(try machine.sh(mode), equals: "root:root 644")
    }

    @Test
    func aConfigurationThatTheServiceCannotReadIsSaidByTheCheckAndTheStatus() throws {
      let file = "/etc/credd/credd.conf"
      let told = "the user 'credd' cannot read \(file): 'chown root:credd' and 'chmod 0640' it"
      try machine.sh("chown root:root \(file); chmod 600 \(file)")
      defer { _ = try? machine.run("chown root:credd \(file); chmod 640 \(file)") }
      let check = try machine.attempt("credd --check-config")
      expect(check.status, equals: 78)
      expect(check.errors.contains(told), "\(check.errors)")
      try machine.sh("systemctl restart credd.service || true")
      expect(try machine.property("StatusText"), equals: "configuration unusable: \(told)")
      try machine.sh("chown root:credd \(file); chmod 640 \(file)")
      expect(try machine.attempt("credd --check-config").status, equals: 0)
      _ = try machine.accessKey(of: "alice")
    }

    /// The units that only an administrator enables go with the package, and come back as they were.
    @Test
    func removalStopsWhatAnAdministratorEnabled() throws {
      let units = ["credd-endpoint.socket", "credd-metrics.timer"]
      try machine.sh(
        """
        systemctl enable \(units.joined(separator: " "))
        systemctl stop credd.service credd.socket credd-tokens.socket
        systemctl start credd.socket credd-tokens.socket \(units.joined(separator: " "))
        """)
      defer {
        _ = try? machine.run("dpkg --install /root/credd.deb")
        _ = try? machine.reset()
      }
      try machine.sh("dpkg --remove credd")
      for unit in units {
        expect(try machine.property("ActiveState", of: unit), equals: "inactive", "\(unit)")
        expect(try machine.property("LoadState", of: unit), equals: "masked", "\(unit)")
      }
      try machine.sh("dpkg --install /root/credd.deb")
      for unit in units {
        expect(try machine.sh("systemctl is-enabled \(unit)"), equals: "enabled", "\(unit)")
      }
      try machine.sh("systemctl start \(units[1]) && dpkg --purge credd")
      for unit in units {
        expect(try machine.property("ActiveState", of: unit), equals: "inactive", "\(unit)")
      }
      expect(try machine.sh("find /etc/systemd /usr/lib /var/lib/systemd -name 'credd*'").isEmpty)
    }

    /// Without a toolchain: two packages and one command.
    @Test
    func sandboxPackageShowsCredentials() throws {
      try machine.sh("apt-get install --yes /root/credd-sandbox_*.deb")
      defer { _ = try? machine.run("dpkg --purge credd-sandbox") }
      let began = ContinuousClock.now
      let shown = try machine.sh("credd-sandbox --demo </dev/null", as: "alice")
      expect(shown.contains("\"AccessKeyId\":\"ASIA"))
      expect(ContinuousClock.now - began < .seconds(20))
    }

    /// Packagers find what credd loads at need in a note of the program: it survives strip(1).
    @Test
    func programNamesTheLibrariesThatItLoads() throws {
      let note = try machine.sh(
        """
        objcopy --output-target=binary --only-section=.note.dlopen /usr/bin/credd /root/note
        tr '\\0' '\\n' </root/note
        """)
      let depends = try machine.sh("dpkg-query --show --showformat='${Depends}' credd")
      for (library, package) in [("libcurl.so.4", "libcurl4"), ("libcrypto.so.3", "libssl3")] {
        expect(note.contains(#""soname":["\#(library)"]"#))
        expect(depends.contains(package))
      }
    }

    /// A library that is loaded later looks up free() in the program first.
    @Test
    func programExportsTheFreeThatWipes() throws {
      let symbols = try machine.sh("readelf --dyn-syms --wide /usr/bin/credd")
      for name in ["free", "realloc"] {
        let exported = symbols.split(separator: "\n").filter { line in
          line.hasSuffix(" \(name)") && line.contains(" FUNC ") && !line.contains(" UND ")
        }
        expect(exported.count, equals: 1, "\(name)")
      }
    }

    @Test
    func administratorsNoIsKept() throws {
      try machine.sh("systemctl disable --now credd.socket")
      try machine.sh("dpkg --install /root/credd.deb")
      defer { _ = try? machine.run("systemctl enable --now credd.socket") }
      expect(try machine.attempt("systemctl is-enabled credd.socket").output, equals: "disabled\n")
      expect(try machine.property("ActiveState", of: "credd.socket"), equals: "inactive")
    }
  }
}
