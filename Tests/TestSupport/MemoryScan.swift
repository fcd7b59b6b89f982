import Foundation
package import Glibc

/// What stands in the memory of a process: every mapping it wrote to, and its files in memory.
///
/// Takes root: credd's memory is closed to all others. A sanitizer's allocator wipes nothing, and
/// its shadow of the memory is terabytes.
package struct MemoryScan {
  package static var canBe: Bool { geteuid() == 0 && !Sanitizer.isOn }

  /// As many bytes of a secret in a row are too many. Fewer occur by chance.
  package static let tooMany = 8

  private let pid: pid_t

  package init(pid: pid_t) { self.pid = pid }

  /// Where a part of each of `secrets` was found, in words; nothing where none was.
  ///
  /// - Parameter besides: what may be there. What secrets have in common with it is none.
  package func find(_ secrets: [String: String], besides: [String] = []) throws -> [String] {
    var found: [String] = []
    let patterns = secrets.map { SecretPattern($0, $1, besides: besides) }
    let memory = unsafe open("/proc/\(pid)/mem", O_RDONLY | O_CLOEXEC)
    guard memory >= 0 else { throw CallFailed("open /proc/\(pid)/mem") }
    defer { close(memory) }
    for mapping in try mappings() {
      let bytes = Self.read(memory, mapping.range)
      found += patterns.compactMap { $0.found(in: bytes).map { "\($0) in \(mapping.name)" } }
    }
    for file in try filesInMemory() {
      let bytes = [UInt8](try Data(contentsOf: URL(filePath: file)))
      found += patterns.compactMap { $0.found(in: bytes).map { "\($0) in \(file)" } }
    }
    return found
  }

  /// The same in memory that was written to a file.
  package static func find(_ secrets: [String: String], inDump file: String) throws -> [String] {
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: file)))
    return secrets.compactMap { SecretPattern($0, $1, besides: []).found(in: bytes) }
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
        // What only the loader ever wrote to is as it is in its file.
        let isOfFile = name.hasPrefix("/") && !name.hasPrefix("/memfd:")
        guard fields[1].hasPrefix(isOfFile ? "rw" : "r") else { return nil }
        // The kernel's own; the first cannot be read from outside.
        guard !["[vvar]", "[vsyscall]"].contains(name) else { return nil }
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

/// A secret to look for, by every part of it that is ``MemoryScan/tooMany`` bytes long.
private struct SecretPattern {
  let name: String
  let secret: [UInt8]
  let besides: [Data]
  /// Where each run of four bytes stands in it. Eight in a row hold four at an even four, wherever
  /// they are: memory is looked through word by word.
  private let places: [UInt32: [Int]]
  /// For most words one look at this is all: whether its lowest 16 bits occur.
  private let isPossible: [Bool]

  init(_ name: String, _ secret: String, besides: [String]) {
    self.name = name
    self.secret = Array(secret.utf8)
    self.besides = besides.map { Data($0.utf8) }
    var places: [UInt32: [Int]] = [:]
    var isPossible = [Bool](repeating: false, count: 1 << 16)
    for start in self.secret.indices.dropLast(3) {
      let word = self.secret[start..<start + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) }
      places[word, default: []].append(start)
      isPossible[Int(word & 0xFFFF)] = true
    }
    self.places = places
    self.isPossible = isPossible
  }

  /// The longest part of it that is there, in words.
  func found(in bytes: [UInt8]) -> String? {
    var longest = 0..<0
    unsafe bytes.withUnsafeBytes { bytes in
      unsafe isPossible.withUnsafeBufferPointer { isPossible in
        let words = unsafe bytes.bindMemory(to: UInt32.self)
        var index = 0
        while index < words.count {
          let word = unsafe UInt32(littleEndian: words[index])
          if word != 0, unsafe isPossible[Int(word & 0xFFFF)], let places = places[word] {
            var next = index
            for place in places {
              let run = unsafe run(at: place, as: index * 4, in: bytes)
              if run.count > longest.count, !isKnown(run) { longest = run }
              // What a long run holds needs no look of its own.
              next = max(next, index + (run.upperBound - place) / 4 - 1)
            }
            index = next
          }
          index += 1
        }
      }
    }
    guard longest.count >= MemoryScan.tooMany else { return nil }
    return "\(name) (bytes \(longest) of \(secret.count))"
  }

  /// How much of the secret stands around a place that is equal.
  private func run(at place: Int, as offset: Int, in bytes: UnsafeRawBufferPointer) -> Range<Int> {
    let shift = offset - place
    var (start, end) = (place, place + 4)
    while start > 0, start + shift > 0, unsafe bytes[start + shift - 1] == secret[start - 1] {
      start -= 1
    }
    while end < secret.count, end + shift < bytes.count, unsafe bytes[end + shift] == secret[end] {
      end += 1
    }
    return start..<end
  }

  private func isKnown(_ run: Range<Int>) -> Bool {
    let part = Data(secret[run])
    return besides.contains { $0.range(of: part) != nil }
  }
}
