import Foundation
package import Glibc

/// Searches the memory of a process: every mapping that it wrote to, and its files in memory.
///
/// This needs root, because credd's memory is closed to all others. It does not work with a
/// sanitizer: its allocator does not wipe, and its shadow memory has terabytes.
package struct MemoryScan {
  package static var canBe: Bool { geteuid() == 0 && !Sanitizer.isOn }

  /// This many bytes of a secret in a row are too many. Fewer occur by chance.
  package static let tooMany = 8

  private let pid: pid_t

  package init(pid: pid_t) { self.pid = pid }

  /// The places, in words, where a part of each of `secrets` was found; empty if none was found.
  ///
  /// - Parameter besides: texts that may be in memory. Parts of secrets that also occur in them do
  ///   not count.
  package func find(_ secrets: [String: String], besides: [String] = []) throws -> [String] {
    let search = SecretSearch(secrets, besides: besides)
    // A mapping may end between the list and the look.
    for _ in 0..<5 { if let found = try find(search) { return found } }
    throw CallFailed("read all of /proc/\(pid)/mem")
  }

  /// Nil if not all memory could be read.
  private func find(_ search: SecretSearch) throws -> [String]? {
    var found: [String] = []
    let memory = unsafe open("/proc/\(pid)/mem", O_RDONLY | O_CLOEXEC)
    guard memory >= 0 else { throw CallFailed("open /proc/\(pid)/mem") }
    defer { close(memory) }
    for mapping in try mappings() {
      let bytes = Self.read(memory, mapping.range)
      guard bytes.count == mapping.range.count else { return nil }
      found += search.found(in: bytes).map { "\($0) in \(mapping.name)" }
    }
    for file in try filesInMemory() {
      let bytes = [UInt8](try Data(contentsOf: URL(filePath: file)))
      found += search.found(in: bytes).map { "\($0) in \(file)" }
    }
    return found
  }

  /// The description of a place with a whole secret.
  package static func whole(_ name: String, _ secret: String) -> String {
    let count = secret.utf8.count
    return "\(name) (bytes 0..<\(count) of \(count))"
  }

  /// Searches memory that was written to a file.
  package static func find(_ secrets: [String: String], inDump file: String) throws -> [String] {
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: file)))
    return SecretSearch(secrets).found(in: bytes)
  }

  private struct Mapping {
    let range: Range<UInt>
    let name: String
  }

  private func mappings() throws -> [Mapping] {
    try ProcessFile.text(pid, "maps").split(separator: "\n")
      .compactMap { line in
        let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
        let ends = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
        let name = fields.count > 5 ? fields[5].trimmingCharacters(in: .whitespaces) : "a mapping"
        // A mapping that only the loader wrote to is the same as its file.
        let isOfFile = name.hasPrefix("/") && !name.hasPrefix("/memfd:")
        guard fields[1].hasPrefix(isOfFile ? "rw" : "r") else { return nil }
        // The kernel's own mappings; the first cannot be read from outside.
        guard !name.hasPrefix("[vvar"), name != "[vsyscall]" else { return nil }
        return Mapping(range: ends[0]..<ends[1], name: name)
      }
  }

  private func filesInMemory() throws -> [String] {
    let folder = "/proc/\(pid)/fd"
    return try FileManager.default.contentsOfDirectory(atPath: folder).map { "\(folder)/\($0)" }
      .filter {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: $0))?.hasPrefix("/memfd:")
          ?? false
      }
  }

  /// The bytes of a range, up to the first one that cannot be read.
  private static func read(_ memory: Int32, _ range: Range<UInt>) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: range.count) { buffer, done in
      while done < range.count {
        let count = unsafe pread(
          memory, buffer.baseAddress?.advanced(by: done), range.count - done,
          off_t(range.lowerBound) + off_t(done))
        guard count > 0 else { return }
        done += count
      }
    }
  }
}
