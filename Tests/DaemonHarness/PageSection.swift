import Foundation
import Testing

/// A section of a page of docs, with its blocks.
struct PageSection {
  struct Block {
    let language: String
    /// What stands in backticks last before the block: most often a file's name.
    let name: String
    let text: String
  }

  let text: String
  let blocks: [Block]

  /// - Parameter title: as after `## `.
  init(_ title: String, of page: String) throws {
    let sections = try Repository.text(page).components(separatedBy: "\n## ")
    text = try #require(sections.first { $0.hasPrefix(title + "\n") }, "\(title) in \(page)")
    // Text and blocks take turns.
    let parts = text.components(separatedBy: "\n```")
    blocks = stride(from: 1, to: parts.count, by: 2).compactMap { index in
      let (language, text) = Self.headAndRest(parts[index])
      let names = parts[index - 1].matches(of: /`([^`\n]+)`/)
      return Block(language: language, name: names.last.map { String($0.1) } ?? "", text: text)
    }
  }

  private static func headAndRest(_ text: String) -> (String, String) {
    let lines = text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
    return (String(lines[0]), lines.count > 1 ? lines[1] + "\n" : "")
  }

  /// The content of a file that the section shows.
  func file(_ name: String) throws -> String {
    try #require(blocks.first { $0.name.hasSuffix(name) }, "\(name)").text
  }

  /// The commands that have a word in them, as they stand.
  func commands(with word: String) throws -> String {
    try #require(blocks.first { $0.language == "sh" && $0.text.contains(word) }, "\(word)").text
  }
}
