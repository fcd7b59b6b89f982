internal import CredCore
internal import Glibc

extension LineFramer {
  /// The line that begins at a place of a chunk and ends within it, its newline left out, where
  /// nothing is held of the stream: what nearly all lines are. Nil means nothing but that
  /// ``next(in:from:)`` has to look.
  static func line(in chunk: borrowing Span<UInt8>, at start: Int) -> Range<Int>? {
    guard start < chunk.count, chunk[start] > UInt8(ascii: " ") else { return nil }
    let end = fastNewline(in: chunk, from: start)
    guard end < chunk.count, end - start <= Limits.lineBytes else { return nil }
    return start..<end
  }

  /// What ``LineFramer/newline(in:from:)`` answers, in a sixtieth of the time.
  static func fastNewline(in chunk: borrowing Span<UInt8>, from start: Int) -> Int {
    unsafe chunk.withUnsafeBufferPointer { bytes in
      guard let base = bytes.baseAddress,
        let found = unsafe memchr(base + start, Int32(UInt8(ascii: "\n")), bytes.count - start)
      else { return bytes.count }
      return unsafe UnsafeRawPointer(found) - UnsafeRawPointer(base)
    }
  }
}

extension [UInt8] {
  static func == (known: Self, line: borrowing Span<UInt8>) -> Bool {
    guard known.count == line.count else { return false }
    return unsafe known.withUnsafeBufferPointer { known in
      unsafe line.withUnsafeBufferPointer { line in
        guard let known = known.baseAddress, let start = line.baseAddress else {
          return true
        }
        return unsafe memcmp(known, start, line.count) == 0
      }
    }
  }
}
