import Foundation

@testable import DaemonHarness

/// The links of a page to files beside it.
struct PageLinks {
  let page: URL
  private let text: String

  init(_ page: URL) throws {
    self.page = page
    text = try String(contentsOf: page, encoding: .utf8)
  }

  /// The pages in a folder and below it.
  static func pages(in folder: URL) throws -> [URL] {
    try FileManager.default.subpathsOfDirectory(atPath: folder.path)
      .filter { $0.hasSuffix(".md") }.map { folder.appending(path: $0) }
  }

  /// The pages of the repository, but for those that were built or fetched.
  static func ofRepository() throws -> [URL] {
    let root = Repository.root
    let top = try FileManager.default.contentsOfDirectory(atPath: root.path)
      .filter { $0.hasSuffix(".md") }.map { root.appending(path: $0) }
    return try top + ["docs", "Benchmarks"].flatMap { try pages(in: root.appending(path: $0)) }
      + [root.appending(path: "contrib/authserver/README.md")]
  }

  /// What is shown as it stands holds no links and no headings.
  private var prose: String {
    text.components(separatedBy: "```").enumerated().filter { $0.offset.isMultiple(of: 2) }
      .map(\.element).joined()
  }

  private var links: [String] {
    prose.matches(of: #/\]\(([^)\s]+)\)/#).map { String($0.1) }
      .filter { $0.prefixMatch(of: #/[a-z]+:/#) == nil }
  }

  /// Those that lead nowhere.
  func broken() throws -> [String] { try links.filter { try !leadsSomewhere($0) } }

  /// The files that the links lead to.
  var targets: Set<URL> { Set(links.map { target(of: $0) }) }

  private func target(of link: String) -> URL {
    let path = link.prefix { $0 != "#" }
    guard !path.isEmpty else { return page }
    return page.deletingLastPathComponent().appending(path: String(path)).standardizedFileURL
  }

  private func leadsSomewhere(_ link: String) throws -> Bool {
    let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
    let target = target(of: link)
    guard FileManager.default.fileExists(atPath: target.path) else { return false }
    guard parts.count > 1, target.pathExtension == "md" else { return true }
    return try PageLinks(target).anchors.contains(String(parts[1]))
  }

  /// As forges make them of headings.
  private var anchors: Set<String> {
    Set(
      prose.matches(of: #/(?m)^#+ (.*)$/#).map { heading in
        heading.1.replacing(#/\[([^\]]*)\]\([^)]*\)/#, with: { $0.output.1 }).lowercased()
          .filter { $0.isLetter || $0.isNumber || "-_ ".contains($0) }
          .replacing(" ", with: "-")
      })
  }
}
