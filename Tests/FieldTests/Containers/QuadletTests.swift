import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// Podman has it from 4.4 on, Debian from 13 on.
private enum QuadletGenerator {
  static let path = [
    "/usr/libexec/podman/quadlet", "/usr/lib/podman/quadlet",
    "/usr/lib/systemd/system-generators/podman-system-generator",
  ].first { FileManager.default.isExecutableFile(atPath: $0) }
}

/// The Quadlet recipe of docs/containers.md, as podman's generator reads it.
@Suite(
  .onStage,
  .enabled(
    if: QuadletGenerator.path != nil, "this podman has no generator: that takes 4.4, Debian 13"))
struct QuadletTests {
  @Test func theRecipeBecomesAUnitWithTheCommandOfThePage() throws {
    let page = try Repository.text("docs/containers.md")
    let recipe = try #require(
      page.components(separatedBy: "## Quadlet\n").last?.components(separatedBy: "```ini\n")
        .dropFirst()
        .first?.components(separatedBy: "```").first)
    let folder = try Stage.current().newFile("units")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Data(recipe.utf8).write(to: URL(filePath: folder + "/app.container"))
    let process = try ChildProcess(
      [try #require(QuadletGenerator.path), "-dryrun"],
      environment: ["QUADLET_UNIT_DIRS": folder, "PATH": "/usr/bin:/bin"])
    expect(try process.wait(), equals: 0, "\(process.errors)")
    // A key that it does not know is no error for its status.
    expect(!process.errors.lowercased().contains("unsupported"), "\(process.errors)")
    let lines = process.output.split(separator: "\n")
    let command = String(try #require(lines.first { $0.hasPrefix("ExecStart=") }))
    expect(command.contains(#/ --user[ =]1234(:0)? /#), "\(command)")
    for word in [
      "--cgroups=split", "-v /run/credd:/run/credd:ro",
      "-v /usr/bin/credctl:/usr/bin/credctl:ro",
    ] {
      expect(command.contains(" \(word) "), "\(command)")
    }
    expect(
      command.hasSuffix(" localhost/app credctl exec --renew work -- app"), "\(command)")
  }
}
