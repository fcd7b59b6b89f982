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

  /// A page that lies beside another one stays linked there, except in the line for contributors.
  @Test(.enabled(if: Programs.installed("make") != nil, "takes make"))
  func anInstalledPageKeepsItsLinksToTheOthers() throws {
    let folder = try installed()
    let root = Repository.root
    var sources: [URL: URL] = [:]
    for page in try PageLinks.pages(in: folder) {
      let name = page.lastPathComponent
      let places = ["", "docs/"].map { root.appending(path: $0 + name).standardizedFileURL }
      let source = try #require(
        places.first { FileManager.default.fileExists(atPath: $0.path) }, "\(name)")
      sources[source] = page.standardizedFileURL
    }
    var count = 0
    for (source, page) in sources {
      let expected = try Set(PageLinks(source).targets.compactMap { sources[$0] })
      let kept = try PageLinks(page).targets
      let lost = expected.subtracting(kept).map(\.lastPathComponent)
      expect(lost.filter { $0 != "CHANGELOG.md" }, equals: [], "\(page.path)")
      count += expected.count
    }
    expect(count > 60, "\(count)")
  }

  /// A word that no terminal can break, such as a URL, may be longer.
  @Test(.enabled(if: Programs.installed("mandoc") != nil, "takes mandoc"))
  func theManualPagesFitATerminalAndQuoteWhatTheyMean() throws {
    let mandoc = try #require(Programs.installed("mandoc"))
    var count = 0
    for folder in ["docs/man", "contrib/authserver/man"] {
      let place = Repository.root.appending(path: folder)
      for name in try FileManager.default.contentsOfDirectory(atPath: place.path) {
        let process = try ChildProcess([
          mandoc, "-Tutf8", "-O", "width=80", place.appending(path: name).path,
        ])
        expect(try process.wait(), equals: 0, "\(process.errors)")
        // Bold is a letter, a backspace and the letter again.
        let text = process.output.replacing(/.\x08/, with: "")
        for line in text.split(separator: "\n") where line.count > 80 {
          let words = line.split(separator: " ")
          expect(words.count == 1, "\(name): \(line)")
        }
        for fault in ["‘’", "“”", "‘ ", "“ ", "‘.’s"] {
          expect(!text.contains(fault), "\(name) has \(fault)")
        }
        count += 1
      }
    }
    expect(count > 5)
  }

  /// Also where a renderer reads no styles, or no variables of CSS.
  @Test func thePicturesHaveTheirColours() throws {
    let folder = Repository.root.appending(path: "docs/pictures")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      .filter { $0.hasSuffix(".svg") }
    expect(names.count > 1)
    for name in names {
      let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
      expect(!text.contains("var("), "\(name)")
      for line in text.split(separator: "\n")
      where ["<rect", "<path", "<text"].contains(where: line.hasPrefix) {
        expect(line.contains(" fill=\""), "\(name): \(line)")
      }
    }
  }

  /// Whoever reads it decides on the first screen.
  @Test func theReadmeIsShort() throws {
    let text = try Repository.text("README.md")
    expect(text.split(separator: "\n", omittingEmptySubsequences: false).count <= 130)
    expect(text.contains("\nmake demo ") && text.contains("\nmake test "))
  }

  /// A line is a paragraph. Rows of tables may be longer.
  @Test func theDevelopersPagesHaveShortParagraphs() throws {
    let pages = try PageLinks.pages(in: Repository.root.appending(path: "docs/internals"))
    expect(pages.count >= 4)
    for page in pages {
      for line in try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
      where !line.hasPrefix("|") {
        expect(line.split(separator: " ").count <= 80, "\(page.lastPathComponent): \(line)")
      }
    }
  }

  /// So that a link leads to one decision.
  @Test func eachDecisionHasAHeading() throws {
    let lines = try Repository.text("docs/internals/decisions.md").split(separator: "\n")
    let headings = lines.filter { $0.hasPrefix("#") }
    expect(headings.count > 50)
    expect(Set(headings).count, equals: headings.count)
    expect(lines.filter { $0.hasPrefix("**") }, equals: [])
  }

  /// Boto3 and version 1 of the AWS CLI read one name of the region, most SDKs the other.
  @Test func everyPlaceHasTheSameLinesForAUnit() throws {
    let section = try PageSection("Five lines in the unit", of: "docs/units.md")
    let lines = try #require(section.blocks.first { $0.language == "ini" }).text
    expect(lines.hasPrefix("[Service]\nLoadCredential="))
    expect(lines.split(separator: "\n").count, equals: 1 + 5)
    expect(try Repository.text("docs/man/credd.8").contains("indent\n\(lines).Ed\n"))
    let comment = lines.split(separator: "\n").map { "#   \($0)\n" }.joined()
    expect(try Repository.text("systemd/credd-tokens.socket").contains("#\n\(comment)#\n"))
    for page in ["README.md", "docs/man/credd.8"] {
      expect(try Repository.text(page).contains("five lines in the unit"), "\(page)")
    }
  }

  // MARK: Configurations

  /// Blocks with a backend and a profile can be copied as they stand.
  @Test func everyConfigurationOfThePagesIsRight() throws {
    var count = 0
    for page in try PageLinks.ofRepository() {
      let name = page.path.replacing(Repository.root.path + "/", with: "")
      for block in try Repository.blocks(of: "ini", in: name)
      where block.contains("[profile ") && block.contains("[backend ") {
        try expectRight(block, name)
        count += 1
      }
    }
    expect(count >= 6)
  }

  private func expectRight(_ configuration: String, _ page: String) throws {
    let file = try Stage.current().newFile("credd.conf")
    try Data(configuration.utf8).write(to: URL(filePath: file))
    let check = try ChildProcess(
      [Programs.credd, "--config", file, "--check-config"],
      environment: ["CREDENTIALS_DIRECTORY": "/run/credentials/credd.service"])
    expect(try check.wait(), equals: 0, "\(page): \(check.output)\(check.errors)")
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
    // The ways to sign in have a default.
    let counted = block.split(separator: "\n").filter { !$0.hasPrefix("sign_in") }
    expect(counted.count, equals: lines, "\(block)")
    expect(try Repository.text("README.md").contains("\(lines) lines: [\(page.dropFirst(5))]"))
  }
}
