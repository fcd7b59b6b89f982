import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// What scripts/version says of a tree.
@Suite(.onStage)
struct VersionTests {
  private let tree: String

  private static let sandbox = "Sources/credd-sandbox/SandboxVersion.swift"

  init() throws {
    tree = try Stage.current().newFile("tree")
    for folder in ["scripts", "docs/man", "Sources/CredCore", "Sources/credd-sandbox"] {
      try FileManager.default.createDirectory(
        atPath: "\(tree)/\(folder)", withIntermediateDirectories: true)
    }
    try FileManager.default.copyItem(
      at: Repository.root.appending(path: "scripts/version"),
      to: URL(filePath: "\(tree)/scripts/version"))
    try write("Sources/CredCore/Version.swift", #"  public static let current = "1.2.3""#)
    try write(Self.sandbox, #"  static let current = "1.2.3""#)
    try write("docs/man/credd.8", ".Os credd @VERSION@")
  }

  private func write(_ path: String, _ text: String) throws {
    try Data((text + "\n").utf8).write(to: URL(filePath: "\(tree)/\(path)"))
  }

  private func version(_ words: String...) throws -> TestHost.Outcome {
    let process = try ChildProcess(["/bin/bash", "\(tree)/scripts/version"] + words)
    return TestHost.Outcome(
      status: try process.wait(), output: process.output, errors: process.errors)
  }

  @Test(arguments: [
    (String?.none, "1.2.3"), ("# Changelog\n\n## [Unreleased]\n", "1.2.3"),
    ("# Changelog\n\n## [Unreleased]\n\n## [2.0.0] - 2026-12-01\n\n## [1.2.3]\n", "2.0.0"),
    ("## 2.0.0~rc1 of December\n", "2.0.0~rc1"), ("## Version 7.0.0 comes\n", "1.2.3"),
  ])
  func theFirstHeadingWithAVersionIsTheVersion(_ changes: String?, _ expected: String) throws {
    if let changes { try write("CHANGELOG.md", changes) }
    expect(try version().output, equals: expected + "\n")
  }

  @Test func disagreementIsAnErrorThatNamesBoth() throws {
    expect(try version("--check").status, equals: 0)
    try write("CHANGELOG.md", "## [2.0.0] - 2026-12-01")
    try write(Self.sandbox, #"  static let current = "1.2.2""#)
    try write("docs/man/credd.8", ".Os credd 1.2.3")
    let outcome = try version("--check")
    expect(outcome.status, equals: 1)
    expect(
      outcome.errors.split(separator: "\n"),
      equals: [
        "version: Sources/CredCore/Version.swift has 1.2.3, and CHANGELOG.md 2.0.0: change one of them",
        "version: Sources/CredCore/Version.swift has 1.2.3, and \(Self.sandbox) 1.2.2: change one of them",
        "version: docs/man/credd.8: there is no line '.Os credd @VERSION@', which gets the version",
      ])
  }

  @Test func notesAreTheFirstSectionThatSaysSomething() throws {
    expect(try version("--notes").errors, equals: "version: there is no CHANGELOG.md\n")
    try write(
      "CHANGELOG.md",
      """
      # Changelog

      In a form.

      ## [Unreleased]

      ## [2.0.0] - 2026-12-01

      ### Added

      - `one` of {two}

      ## [1.2.3]

      - old

      [2.0.0]: https://example.com
      """)
    expect(try version("--notes").output, equals: "### Added\n\n- `one` of {two}\n")
  }
}
