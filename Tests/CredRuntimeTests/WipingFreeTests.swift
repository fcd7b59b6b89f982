import Glibc
import TestSupport
import Testing

@testable import CredRuntime

struct WipingFreeTests {
  /// A sanitizer brings its own allocator, which stays in place.
  private static var isSanitized: Bool {
    unsafe dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil
  }

  /// While a chunk waits for its next use the allocator keeps links at its beginning, and its size
  /// in its last eight bytes.
  private static let links = 32
  private static let sizeAtEnd = 8

  @Test(
    .disabled(if: isSanitized, "a sanitizer has a free() of its own"),
    arguments: [64, 200, 1032, 4096, 65_536])
  func `what comes from the allocator again holds nothing of before`(_ size: Int) {
    let seen = reused(size) { Self.free($0) }
    expect(seen, equals: [UInt8](repeating: 0, count: size - Self.links - Self.sizeAtEnd))
  }

  @Test(.disabled(if: isSanitized, "a sanitizer has a free() of its own"))
  func `growing keeps the bytes and wipes the old place`() {
    var kept: [[UInt8]] = []
    let seen = reused(600) { place in
      let grown = Self.reallocate(place, 100_000)
      kept.append(Self.bytes(grown, 600))
      Self.free(grown)
    }
    expect(seen, equals: [UInt8](repeating: 0, count: 600 - Self.links - Self.sizeAtEnd))
    expect(kept.allSatisfy { $0 == [UInt8](repeating: 0xA5, count: 600) })
  }

  @Test(.disabled(if: isSanitized, "a sanitizer has a free() of its own"))
  func `shrinking wipes the end`() {
    let place = Self.reallocate(Self.allocate(1000, filledWith: 0xA5), 600)
    expect(Self.bytes(place, 600).allSatisfy { $0 == 0xA5 })
    expect(Self.bytes(place, 1000).dropFirst(600).allSatisfy { $0 == 0 })
    Self.free(place)
  }

  /// Fills blocks, gives them up with `giveUp`, and reads one of them when the allocator hands it out
  /// again. Nil if the allocator hands out none of them.
  ///
  /// - Returns: the bytes of the block, without those in which the allocator keeps its own data.
  ///
  /// Other threads take blocks of the same arena, so many are given up before any is asked for. Every second
  /// one is kept, so that the allocator joins none with its neighbour. It may hand out older blocks of the
  /// size first: more are taken until one comes back.
  private func reused(_ size: Int, _ giveUp: (UInt) -> Void) -> [UInt8]? {
    for _ in 0..<100 {
      let blocks = (0..<128).map { _ in Self.allocate(size, filledWith: 0xA5) }
      let given = Set(stride(from: 1, to: blocks.count - 1, by: 2).map { blocks[$0] })
      given.forEach(giveUp)
      var taken = blocks.filter { !given.contains($0) }
      defer { taken.forEach(Self.free) }
      while taken.count < 2048 {
        let next = Self.allocate(size, filledWith: nil)
        taken.append(next)
        guard given.contains(next) else { continue }
        return Array(Self.bytes(next, size).dropFirst(Self.links).dropLast(Self.sizeAtEnd))
      }
    }
    return nil
  }

  // MARK: The allocator, by address

  private static func allocate(_ size: Int, filledWith byte: Int32?) -> UInt {
    let memory = unsafe malloc(size)
    if let byte, let start = unsafe memory { unsafe memset(start, byte, size) }
    return UInt(bitPattern: memory)
  }

  private static func reallocate(_ place: UInt, _ size: Int) -> UInt {
    UInt(bitPattern: unsafe realloc(UnsafeMutableRawPointer(bitPattern: place), size))
  }

  private static func free(_ place: UInt) {
    unsafe Glibc.free(UnsafeMutableRawPointer(bitPattern: place))
  }

  private static func bytes(_ place: UInt, _ count: Int) -> [UInt8] {
    unsafe Array(
      UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: place), count: count))
  }
}
