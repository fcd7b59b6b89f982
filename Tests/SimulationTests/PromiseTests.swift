import Foundation
import Testing

/// The pages that say what credd promises name only tests that there are.
struct PromiseTests {
  private static let root = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL

  @Test(arguments: [("docs/promises.md", 20), ("SECURITY.md", 25)])
  func everyPromiseIsHeldByATest(_ file: String, _ least: Int) throws {
    let known = try functions()
    let rows = try self.rows(of: file)
    #expect(rows.count >= least)
    for row in rows {
      let tests = row.components(separatedBy: " | ").last ?? ""
      let names = tests.matches(of: /`([^`]+)`/).map { String($0.1) }
      #expect(!names.isEmpty, "\(row)")
      #expect(names.filter { !known.contains($0) } == [], "\(row)")
    }
  }

  /// Those of the tables whose last column is of tests.
  private func rows(of file: String) throws -> [String] {
    let page = try String(contentsOf: Self.root.appending(path: file), encoding: .utf8)
    var rows: [String] = []
    var isOfTests = false
    for line in page.components(separatedBy: "\n") {
      if !line.hasPrefix("|") {
        isOfTests = false
      } else if line.hasSuffix("| Tests |") {
        isOfTests = true
      } else if isOfTests, !line.hasPrefix("|---") {
        rows.append(line)
      }
    }
    return rows
  }

  private func functions() throws -> Set<String> {
    let folder = Self.root.appending(path: "Tests")
    var names: Set<String> = []
    for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path)
    where path.hasSuffix(".swift") {
      let text = try String(contentsOf: folder.appending(path: path), encoding: .utf8)
      for match in text.matches(of: /@Test\b.*?\bfunc (?:`([^`]+)`|(\w+))\(/.dotMatchesNewlines()) {
        names.insert(String(match.1 ?? match.2 ?? ""))
      }
    }
    return names
  }
}
