import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// The lists of what is in the packages.
@Suite(.onStage, .enabled(if: Programs.shipped != nil, "takes the release programs"))
struct SBOMTests {
  /// A clone of the work tree, in which everything is committed.
  private let clone: String

  init() throws {
    clone = try Stage.current().newFile("clone")
    let outcome = try BuiltPackage.shell(
      """
      output=$(dirname "$1")
      source scripts/checks.bash
      clone_tree "$PWD" "$1"
      mkdir "$1/build"
      cp --recursive "$2" "$1/build/bin"
      cp Package.resolved "$1/"
      cd "$1"
      git add --all
      git -c user.name=test -c user.email=test@test.invalid commit --quiet --allow-empty --message=test
      """, clone, try #require(Programs.shipped))
    try #require(outcome.status == 0, "\(outcome)")
  }

  private func sbom() throws -> TestHost.Outcome {
    try BuiltPackage.shell("scripts/sbom 9.9.9", in: clone)
  }

  private static let validator = """
    import json, sys
    from cyclonedx.model.bom import Bom
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator
    text = open(sys.argv[1]).read()
    print(JsonStrictValidator(SchemaVersion.V1_6).validate_str(text))
    bom = Bom.from_json(json.loads(text))
    print(bom.metadata.component.name, bom.metadata.component.version, bom.validate())
    """

  /// By a library of those who define the format.
  @Test(.enabled(if: PythonClients.isWanted, "CREDD_SKIP_REAL_CLIENTS is set"))
  func eachListIsValid() throws {
    expect(try sbom().status, equals: 0)
    let python = try PythonClients("venv-sbom", "requirements-sbom.txt")
    for name in ["credd", "credd-sandbox"] {
      let process = try python.python(Self.validator, try file(name))
      expect(process.output, equals: "None\n\(name) 9.9.9 True\n", "\(process.errors)")
    }
  }

  @Test func namesSourcesPackagesAndLibraries() throws {
    expect(try sbom().status, equals: 0)
    let text = try String(contentsOfFile: try file("credd"), encoding: .utf8)
    for part in try digests([
      "Sources/CredCore/Version.swift", "build/bin/credd", "build/bin/credctl",
    ]) {
      expect(text.contains(#""content": "\#(part)""#))
    }
    let manifest = try Repository.text("Package.swift")
    for package in manifest.matches(of: /"https:\/\/(\S+)", exact: "(\S+)"/) {
      let pieces = text.components(separatedBy: "pkg:swift/\(package.1)@\(package.2)?vcs_url=")
      expect(
        pieces.dropFirst().first?.firstMatch(of: /^[^"]+%40[0-9a-f]{40}"/) != nil, "\(package.1)")
    }
    for name in ["libsystemd0", "libcurl4", "libssl3", "libqrcodegen-dev"] {
      expect(text.contains("pkg:deb/debian/\(name)@"), "\(name)")
    }
    expect(!text.contains("SandboxKit") && text.contains(#""name": "swift-runtime""#))
    expect(!text.contains(clone))
  }

  @Test func theSameCommitHasTheSameList() throws {
    expect(try sbom().status, equals: 0)
    let lists = try [file("credd"), file("credd-sandbox")].map {
      try Data(contentsOf: URL(filePath: $0))
    }
    expect(try sbom().status, equals: 0)
    let again = try [file("credd"), file("credd-sandbox")].map {
      try Data(contentsOf: URL(filePath: $0))
    }
    expect(lists == again)
  }

  @Test func aTreeWithChangesIsAnErrorThatNamesOne() throws {
    try Data("x".utf8).write(to: URL(filePath: clone + "/Sources/CredCore/New.swift"))
    let outcome = try sbom()
    expect(outcome.status, equals: 1)
    expect(
      outcome.errors,
      equals:
        "sbom: the tree has what no commit has: Sources/CredCore/New.swift; commit it or take it "
        + "away, so that the list is one of a commit\n")
  }

  private func file(_ name: String) throws -> String {
    "\(clone)/build/\(name)-9.9.9.\(BuiltPackage.processor).cdx.json"
  }

  private func digests(_ paths: [String]) throws -> [String] {
    let list = paths.joined(separator: " ")
    let outcome = try BuiltPackage.shell("sha256sum \(list) | cut --characters=-64", in: clone)
    return outcome.output.split(separator: "\n").map(String.init)
  }
}
