import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// The RPMs, beside the Debian packages of the same build. SystemTests install them.
@Suite(.onStage, .enabled(if: BuiltPackage.areThere, "takes 'make deb rpm' and Debian's rpm"))
struct RPMContentTests {
  /// One list says what is installed. What only one of them has is named here.
  @Test(arguments: ["credd", "credd-sandbox"])
  func filesAreThoseOfTheDebianPackage(_ name: String) throws {
    var expected = try debianFiles(name)
    for path in [
      "/usr/share/doc/\(name)/changelog.gz", "/usr/share/lintian/overrides/\(name)",
      "/usr/share/doc/\(name)/examples/usr.bin.credd",
    ] {
      expected[path] = nil
    }
    // Debian has a folder of its own for the completions that packages bring.
    let completions = "/usr/share/zsh/vendor-completions/_credctl"
    if let digest = expected.removeValue(forKey: completions) {
      expected["/usr/share/zsh/site-functions/_credctl"] = digest
    }
    var files = try rpmFiles(name)
    expect(files.removeValue(forKey: "/usr/share/licenses/\(name)/LICENSE") != nil)
    expect(files.keys.sorted(), equals: expected.keys.sorted())
    expect(files.filter { expected[$0.key] != $0.value }.keys.sorted(), equals: [])
    expect(expected["/usr/bin/\(name)"]?.utf8.count, equals: 64)
  }

  @Test func theServicesUserReadsTheConfigurationAndMayNotChangeIt() throws {
    let listing = try query(
      "credd",
      "[%{FILENAMES} %{FILEMODES:perms} %{FILEUSERNAME}:%{FILEGROUPNAME} %{FILEFLAGS:fflags}\\n]")
    expect(listing.contains("/etc/credd/credd.conf -rw-r----- root:credd cn\n"), "\(listing)")
    expect(listing.contains("/etc/credd drwxr-xr-x root:root "), "\(listing)")
  }

  /// rpmbuild finds the libraries that are linked; the spec names those that are loaded at need.
  @Test func requiresTheLibrariesByTheirNames() throws {
    for program in ["credd", "credd-sandbox"] {
      let required = try query(program, "[%{REQUIRENAME}\\n]").split(separator: "\n")
      let dynamic = try BuiltPackage.shell(
        "readelf --dynamic --wide \"$1\"", Repository.root.path + "/build/bin/" + program)
      let linked = dynamic.output.matches(of: /\(NEEDED\).*\[(.+)\]/).map { String($0.1) }
      expect(!linked.isEmpty)
      let loaded =
        program == "credd"
        ? try DlopenNote.libraries(of: Repository.root.path + "/build/bin/credd").map(\.soname) : []
      for library in linked + loaded {
        expect(required.contains { $0 == "\(library)()(64bit)" }, "\(library)")
      }
    }
  }

  @Test func everyScriptIsOneThatAShellReads() throws {
    for script in ["PREIN", "POSTIN", "PREUN", "POSTUN"] {
      let text = try query("credd", "%{\(script)}")
      let reading = try BuiltPackage.shell("sh -n <<<\"$1\"", text)
      expect(reading.status, equals: 0, "\(script): \(reading.errors)")
      expect(try query("credd", "%{\(script)PROG}"), equals: "/bin/sh")
    }
    expect(try query("credd", "%{PREIN}").contains("\nu credd - "))
  }

  @Test(arguments: [
    ("build-deb", Int32(64)), ("build-rpm", 64), ("sbom", 1), ("cross check", 64),
  ])
  func anArchitectureThatThereIsNotIsAnError(_ script: String, _ status: Int32) throws {
    let version = script == "cross check" ? "" : "0.2.0"
    let outcome = try BuiltPackage.shell("scripts/\(script) \(version) \"$1\"", "sparc")
    expect(outcome.status, equals: status)
    let name = script.split(separator: " ")[0]
    expect(
      outcome.errors,
      equals: "\(name): there is no architecture 'sparc': say ARCH=amd64 or ARCH=arm64\n")
  }

  @Test func programsForAnotherProcessorAreNotPacked() throws {
    let outcome = try BuiltPackage.shell(
      "source scripts/packing.bash && expect_processor \"$1\" build/bin/credd",
      BuiltPackage.otherProcessor)
    expect(outcome.status, equals: 1)
    expect(outcome.errors.contains("is built for \(BuiltPackage.processor), not for"), "\(outcome)")
  }

  @Test func thisMachinesProgramsNeedNoOtherSystem() throws {
    let outcome = try BuiltPackage.shell("scripts/cross check \"$1\"", BuiltPackage.processor)
    expect(outcome.status, equals: 1)
    expect(
      outcome.errors,
      equals: "cross: \(BuiltPackage.processor) is this machine's own: run 'make release'\n")
  }

  private func query(_ name: String, _ format: String) throws -> String {
    let file = try #require(BuiltPackage.rpm(name))
    let outcome = try BuiltPackage.shell(
      "rpm --query --package --queryformat \"$1\" \"$2\"", format, file)
    expect(outcome.status, equals: 0, "\(outcome)")
    return outcome.output
  }

  /// The digest of each file, and what a link leads to.
  private func rpmFiles(_ name: String) throws -> [String: String] {
    try lines(
      try query(name, "[%{FILEMODES:perms} %{FILENAMES} %{FILEDIGESTS}%{FILELINKTOS}\\n]")
        .split(separator: "\n").filter { !$0.hasPrefix("d") }
        .map { $0.drop { $0 != " " }.dropFirst() })
  }

  private func debianFiles(_ name: String) throws -> [String: String] {
    let folder = try Stage.current().newFile("deb")
    let outcome = try BuiltPackage.shell(
      """
      dpkg-deb --extract "$1" "$2"
      cd "$2"
      find . -type f -exec sha256sum {} + | sed -E 's|^([0-9a-f]+)  \\.(.*)|\\2 \\1|'
      find . -type l -printf '/%P %l\\n'
      """, try #require(BuiltPackage.deb(name)), folder)
    expect(outcome.status, equals: 0, "\(outcome)")
    return try lines(outcome.output.split(separator: "\n"))
  }

  private func lines(_ lines: [Substring]) throws -> [String: String] {
    let pairs = lines.map { $0.split(separator: " ", maxSplits: 1).map(String.init) }
    return Dictionary(pairs.filter { $0.count == 2 }.map { ($0[0], $0[1]) }) { one, _ in one }
  }
}
