import AuthCore
import Foundation
import Testing

/// The list of events, and what docs/authserver.md says of them, against the sources.
struct AuditEventTests {
  private static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// Events that a target writes.
  private static func events(_ target: String) throws -> Set<String> {
    let folder = package.appendingPathComponent("Sources/" + target)
    let files = try FileManager.default.contentsOfDirectory(
      at: folder, includingPropertiesForKeys: nil)
    let event = #/(?:trail|note|AuditNote)\(\s*"(\w+)"/#
    return try files.reduce(into: []) { events, file in
      let text = try String(contentsOf: file, encoding: .utf8)
      for match in text.matches(of: event) { events.insert(String(match.1)) }
    }
  }

  @Test func eachEventIsInTheList() throws {
    let written = try Self.events("AuthServer").union(Self.events("credd-authserver"))
    #expect(Set(AuditNote.events) == written)
    #expect(AuditNote.events.count == written.count)
  }

  /// A restore undoes them, and nobody has a right by that; an archive stays as it is.
  private static let harmless: Set = [
    "archived", "hostEnrolled", "hostGroupAdded", "invited", "userAdded", "userEnabled",
  ]

  @Test func eachActThatARestoreUndoesIsLookedForInTheLog() throws {
    let page = Self.package.appendingPathComponent("../../docs/authserver.md")
    let text = try String(contentsOf: page, encoding: .utf8)
    let grep = try #require(text.firstMatch(of: #/grep -E '"event":"\(([\w|]+)\)"'/#))
    let named = Set(grep.1.split(separator: "|").map(String.init))
    #expect(named.union(Self.harmless) == (try Self.events("credd-authserver")))
    #expect(named.isDisjoint(with: Self.harmless))
  }
}
