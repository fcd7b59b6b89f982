import Foundation
import Glibc
import TestSupport
import Testing

@testable import CredCore
@testable import CredRuntime

/// What the arithmetic leaves in this process's memory.
@Suite(.serialized) struct SRPMemoryTests {
  /// A secret number whose words stand nowhere: each is the complement of what is looked for.
  private struct Unwritten {
    /// Both ends are the same in all of them, so that most words in memory are passed over quickly.
    private static let ends: UInt64 = 0x5A5A_0000_0000_5A5A
    private static let endsMask: UInt64 = 0xFFFF_0000_0000_FFFF

    let complements: [UInt64]

    init() {
      complements = (0..<4).map { _ in
        .random(in: .min ... .max) & ~Self.endsMask | Self.ends
      }
    }

    /// The number, big-endian.
    var bytes: [UInt8] {
      complements.flatMap { word in
        (0..<8).map { ~UInt8(truncatingIfNeeded: word >> (56 - 8 * UInt64($0))) }
      }
    }

    /// Words in memory that are one of the number's, in either order of their bytes.
    func places() throws -> Int {
      let complements = complements + complements.map(\.byteSwapped)
      return try Self.writableMemory().reduce(0) { $0 + Self.count(complements, in: $1) }
    }

    /// As far as the memory can be read: another test may give it back meanwhile.
    private static func count(_ complements: [UInt64], in range: Range<UInt>) -> Int {
      let file = unsafe open("/proc/self/mem", O_RDONLY | O_CLOEXEC)
      let copy = UnsafeMutableBufferPointer<UInt64>.allocate(capacity: range.count / 8)
      defer {
        close(file)
        unsafe copy.deallocate()
      }
      let read = unsafe pread(file, copy.baseAddress, range.count, off_t(range.lowerBound))
      var (count, index) = (0, 0)
      while index < read / 8 {
        let word = unsafe copy[index]
        if word & endsMask ^ endsMask == ends, complements.contains(where: { $0 ^ word == .max }) {
          count += 1
        }
        index += 1
      }
      return count
    }

    private static func writableMemory() throws -> [Range<UInt>] {
      try ProcessFile.text(getpid(), "maps").split(separator: "\n").compactMap { line in
        let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
        let ends = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
        return fields[1].hasPrefix("rw") && ends.count == 2 ? ends[0]..<ends[1] : nil
      }
    }
  }

  @Test(.disabled(if: Sanitizer.isOn, "a sanitizer has a free() of its own"))
  func `no secret number stays`() throws {
    try #require(Library.Name.crypto.load() == nil)
    let secret = Unwritten()
    try compute(with: secret)
    expect(try secret.places(), equals: 0)
    // The search would find one.
    let kept = secret.bytes
    expect(try secret.places() > 0)
    expect(kept.count, equals: 32)
  }

  /// The exponents of both computations: `x`, and `a + u·x` with words of `x`.
  private func compute(with secret: Unwritten) throws {
    let crypto = Libcrypto()
    let one = Secret([UInt8](repeating: 0, count: 31) + [1])
    let B = Secret([UInt8](repeating: 5, count: 384))
    for _ in 0..<3 {
      _ = crypto.power(Secret(secret.bytes))
      let terms = SRPTerms(
        privateValue: one, serverValue: B, scramble: one, passwordHash: Secret(secret.bytes))
      expect(crypto.sharedSecret(terms) != nil)
    }
  }
}
