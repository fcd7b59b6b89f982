import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// The pages lead where they say, here and where they are installed.
@Suite(.onStage)
struct PagesTests {
  private func expectNoBrokenLinks(in pages: [URL]) throws {
    expect(pages.count > 15)
    for page in pages {
      expect(try PageLinks(page).broken(), equals: [], "\(page.path)")
    }
  }

  @Test func everyLocalLinkOfTheRepositoryLeadsSomewhere() throws {
    try expectNoBrokenLinks(in: PageLinks.ofRepository())
  }

  /// What the package installs, too.
  private func installed() throws -> URL {
    let folder = try Stage.current().newFile("installed")
    let make = try #require(Programs.installed("make"))
    let process = try ChildProcess([
      make, "--no-print-directory", "-C", Repository.root.path, "install-pages",
      "DESTDIR=\(folder)", "PREFIX=/usr",
    ])
    expect(try process.wait(), equals: 0, "\(process.errors)")
    return URL(filePath: folder + "/usr/share/doc/credd")
  }

  @Test(.enabled(if: Programs.installed("make") != nil, "takes make"))
  func everyLocalLinkOfTheInstalledPagesLeadsSomewhere() throws {
    let folder = try installed()
    let pages = try PageLinks.pages(in: folder)
    try expectNoBrokenLinks(in: pages)
    // Nothing leads out of it, and nothing of the developers' is there.
    for page in pages {
      let text = try String(contentsOf: page, encoding: .utf8)
      expect(!text.contains("](.."), "\(page.path)")
    }
    let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
    let developers = ["architecture.md", "decisions.md", "promises.md", "claims.md", "internals"]
    expect(Set(names).intersection(developers), equals: [])
    expect(names.contains("README.md") && names.contains("pictures/request.svg"))
  }

  /// Whoever reads it decides on the first screen.
  @Test func theReadmeIsShort() throws {
    let text = try Repository.text("README.md")
    expect(text.split(separator: "\n", omittingEmptySubsequences: false).count <= 130)
    expect(text.contains("\nmake demo ") && text.contains("\nmake test "))
  }

  /// The README counts the lines that each door takes.
  @Test(arguments: [
    ("docs/user-pools.md", "type = user-pool", 7), ("docs/oidc.md", "require.email", 10),
    ("docs/backend.md", "type = http", 8),
  ])
  func aDoorTakesAsManyLinesAsTheReadmeSays(_ page: String, _ word: String, _ lines: Int) throws {
    let block = try #require(
      try Repository.blocks(of: "ini", in: page).first {
        $0.contains(word) && $0.contains("[profile ")
      })
    let file = try Stage.current().newFile("credd.conf")
    try Data(block.utf8).write(to: URL(filePath: file))
    let check = try ChildProcess(
      [Programs.credd, "--config", file, "--check-config"],
      environment: ["CREDENTIALS_DIRECTORY": "/nonexistent"])
    try check.wait()
    expect(!check.errors.contains("error") && !check.errors.contains("unknown"), "\(check.errors)")
    expect(
      block.split(separator: "\n").count { !$0.hasPrefix("sign_in") }, equals: lines, "\(block)")
    expect(try Repository.text("README.md").contains("\(lines) lines: [\(page.dropFirst(5))]"))
  }
}
