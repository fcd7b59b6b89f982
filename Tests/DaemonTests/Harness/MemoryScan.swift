import Foundation
import Glibc

/// What stands in the memory of a process: every mapping that can be read, and its files in memory.
///
/// Takes root: credd's memory is closed to everyone else.
struct MemoryScan {
  static var canBe: Bool { geteuid() == 0 }

  let pid: pid_t

  /// Where each of `secrets` was found, in words; nothing where it was not.
  ///
  /// Looks for parts of long ones: of what was overwritten at one end, the other would be left.
  func find(_ secrets: [String: String]) throws -> [String] {
    var found: [String] = []
    let memory = unsafe open("/proc/\(pid)/mem", O_RDONLY | O_CLOEXEC)
    guard memory >= 0 else { throw CallFailed("open /proc/\(pid)/mem") }
    defer { close(memory) }
    for mapping in try mappings() {
      let bytes = Self.read(memory, mapping.range)
      found += Self.parts(of: secrets, in: bytes).map { "\($0) in \(mapping.name)" }
    }
    for file in try filesInMemory() {
      let bytes = try Data(contentsOf: URL(filePath: file))
      found += Self.parts(of: secrets, in: bytes).map { "\($0) in \(file)" }
    }
    return found
  }

  private struct Mapping {
    let range: Range<UInt>
    let name: String
  }

  private func mappings() throws -> [Mapping] {
    try String(contentsOfFile: "/proc/\(pid)/maps", encoding: .utf8).split(separator: "\n")
      .compactMap { line in
        let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
        let ends = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
        let name = fields.count > 5 ? fields[5].trimmingCharacters(in: .whitespaces) : "a mapping"
        // The kernel's own; the first cannot be read from outside.
        guard fields[1].hasPrefix("r"), !["[vvar]", "[vsyscall]"].contains(name) else { return nil }
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

  /// As far as it can be read.
  private static func read(_ memory: Int32, _ range: Range<UInt>) -> Data {
    var data = Data(count: range.count)
    var done = 0
    while done < range.count {
      let count = unsafe data.withUnsafeMutableBytes {
        unsafe pread(
          memory, $0.baseAddress?.advanced(by: done), range.count - done,
          off_t(range.lowerBound) + off_t(done))
      }
      guard count > 0 else { break }
      done += count
    }
    return data.prefix(done)
  }

  private static func parts(of secrets: [String: String], in bytes: Data) -> [String] {
    secrets.flatMap { name, secret in
      let secret = Data(secret.utf8)
      // The head of a token is its algorithm, which all have.
      let middle = [0.3, 0.6].map { secret.dropFirst(Int(Double(secret.count) * $0)).prefix(20) }
      let parts = secret.count < 64 ? [secret] : middle + [secret.suffix(20)]
      return parts.enumerated().filter { bytes.range(of: $0.element) != nil }
        .map { "\(name) (part \($0.offset))" }
    }
  }
}
