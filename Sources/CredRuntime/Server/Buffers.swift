internal import CLinux
internal import CredCore
internal import Glibc

/// Gathers the replies of one connection's turn, so that a pipeline is answered with one write. All
/// connections share it: between turns it is empty and wiped.
@safe final class OutputBuffer {
  private let memory: UnsafeMutableRawBufferPointer
  private var used = 0

  init(capacity: Int) {
    unsafe memory = .allocate(byteCount: capacity, alignment: 64)
  }

  deinit {
    unsafe memory.deallocate()
  }

  var isEmpty: Bool { used == 0 }

  /// Returns false if there is not enough room; then nothing is appended.
  func append(_ bytes: [UInt8]) -> Bool {
    guard let base = unsafe memory.baseAddress, unsafe used + bytes.count <= memory.count else {
      return false
    }
    unsafe bytes.withUnsafeBytes { source in
      guard let start = source.baseAddress else { return }
      unsafe memcpy(base + used, start, source.count)
    }
    used += bytes.count
    return true
  }

  /// Returns what `send` returns.
  func send(to descriptor: Int32) -> Int {
    unsafe credd_send(descriptor, memory.baseAddress, used)
  }

  /// Returns the bytes that the kernel did not accept, and empties the buffer.
  func takeRest(after sent: Int) -> [UInt8] {
    defer { clear() }
    guard sent < used else { return [] }
    return unsafe Array(memory[sent..<used])
  }

  func clear() {
    unsafe credd_wipe(memory.baseAddress, used)
    used = 0
  }
}

extension LineFramer {
  /// The line that begins at `start` and ends within the chunk, without its newline. Call it only
  /// if the framer holds no partial line, which is nearly always so. If it returns nil, call
  /// ``next(in:from:)``.
  static func line(in chunk: borrowing Span<UInt8>, at start: Int) -> Range<Int>? {
    guard start < chunk.count, chunk[start] > UInt8(ascii: " ") else { return nil }
    let end = fastNewline(in: chunk, from: start)
    guard end < chunk.count, end - start <= Limits.Line.bytes else { return nil }
    return start..<end
  }

  /// Does the same as ``LineFramer/newline(in:from:)``, 60 times faster.
  static func fastNewline(in chunk: borrowing Span<UInt8>, from start: Int) -> Int {
    unsafe chunk.withUnsafeBufferPointer { bytes in
      guard let base = bytes.baseAddress,
        let found = unsafe memchr(base + start, Int32(UInt8(ascii: "\n")), bytes.count - start)
      else { return bytes.count }
      return unsafe UnsafeRawPointer(found) - UnsafeRawPointer(base)
    }
  }
}
