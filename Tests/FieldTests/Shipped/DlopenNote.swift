import Foundation

@testable import DaemonHarness

/// The notes of an ELF file that name the libraries it loads by dlopen(3).
enum DlopenNote {
  struct Library: Decodable {
    let feature: String
    let description: String
    let priority: String
    let sonames: [String]

    var soname: String { sonames.count == 1 ? sonames[0] : "one of \(sonames)" }

    private enum CodingKeys: String, CodingKey {
      case feature, description, priority
      case sonames = "soname"
    }
  }

  /// Sorted by name.
  static func libraries(of program: String) throws -> [Library] {
    let section = try Stage.current().newFile("note")
    let objcopy = Programs.installed("objcopy") ?? "objcopy"
    let copying = try ChildProcess(
      [objcopy, "--output-target=binary", "--only-section=.note.dlopen", program, section])
    guard try copying.wait() == 0 else { throw Malformed(reason: copying.errors) }
    var bytes = try Data(contentsOf: URL(filePath: section))[...]
    var libraries: [Library] = []
    while !bytes.isEmpty {
      libraries += try JSONDecoder().decode([Library].self, from: try content(&bytes))
    }
    return libraries.sorted { $0.soname < $1.soname }
  }

  /// One note: the sizes of its name and content, its type, both texts filled up to four bytes.
  private static func content(_ bytes: inout Data.SubSequence) throws -> Data {
    let (nameSize, size) = try (number(&bytes), number(&bytes))
    guard try number(&bytes) == 0x407C_0C0A else { throw Malformed(reason: "another type") }
    guard try text(&bytes, nameSize) == Data("FDO\0".utf8) else {
      throw Malformed(reason: "another owner")
    }
    let content = try text(&bytes, size)
    guard content.last == 0 else { throw Malformed(reason: "no end of the text") }
    return content.dropLast()
  }

  private static func number(_ bytes: inout Data.SubSequence) throws -> Int {
    try text(&bytes, 4).reversed().reduce(0) { $0 << 8 | Int($1) }
  }

  private static func text(_ bytes: inout Data.SubSequence, _ size: Int) throws -> Data {
    let padded = (size + 3) & ~3
    guard bytes.count >= padded else { throw Malformed(reason: "it ends too soon") }
    defer { bytes = bytes.dropFirst(padded) }
    return Data(bytes.prefix(size))
  }

  struct Malformed: Error {
    let reason: String
  }
}
