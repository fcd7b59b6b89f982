import Foundation
import Testing

/// docs/promises.md names only tests that there are.
struct PromiseTests {
  private static let root = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL

  @Test func everyPromiseIsHeldByATest() throws {
    let page = try String(
      contentsOf: Self.root.appending(path: "docs/promises.md"), encoding: .utf8)
    let known = try functions()
    let rows = page.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst()
    #expect(rows.count >= 20)
    for row in rows {
      let tests = row.components(separatedBy: " | ").last ?? ""
      let names = tests.matches(of: /`(\w+)`/).map { String($0.1) }
      #expect(!names.isEmpty, "\(row)")
      #expect(names.filter { !known.contains($0) } == [], "\(row)")
    }
  }

  private func functions() throws -> Set<String> {
    let folder = Self.root.appending(path: "Tests")
    var names: Set<String> = []
    for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path)
    where path.hasSuffix(".swift") {
      let text = try String(contentsOf: folder.appending(path: path), encoding: .utf8)
      for match in text.matches(of: /@Test\b.*?\bfunc (\w+)\(/.dotMatchesNewlines()) {
        names.insert(String(match.1))
      }
    }
    return names
  }
}
