import CLinux
import CredctlKit

/// The bytes of a reply. They may contain secrets, so every buffer of them is wiped.
final class ReplyBuffer {
  private var bytes = [UInt8](repeating: 0, count: ReplyLimits.firstBuffer)
  private var filled = 0
  /// The index of the newline.
  private var end: Int?

  var holdsLine: Bool { end != nil }
  var line: [UInt8] { Array(bytes[..<(end ?? filled)]) }
  var lineWithNewline: ArraySlice<UInt8> { bytes[..<(end.map { $0 + 1 } ?? filled)] }

  /// Lets `read` fill the free space, and looks for the newline in the new bytes.
  ///
  /// - Returns: the result of `read`: a count, 0 at the end, or -1.
  func fill(_ read: (UnsafeMutableRawBufferPointer) -> Int) throws(TransportError) -> Int {
    if filled == bytes.count { try grow() }
    let start = filled
    let count = unsafe bytes.withUnsafeMutableBytes { all in
      unsafe read(UnsafeMutableRawBufferPointer(rebasing: all[start...]))
    }
    guard count > 0 else { return count }
    filled += count
    findLine(from: start)
    return count
  }

  /// Makes room for the next line. A part of it may be in the buffer already.
  func removeLine() {
    guard let end else { return }
    let rest = bytes[(end + 1)..<filled]
    filled = rest.count
    bytes.replaceSubrange(..<filled, with: rest)
    findLine(from: 0)
  }

  private func findLine(from start: Int) {
    end = bytes[start..<filled].firstIndex(of: UInt8(ascii: "\n"))
  }

  private func grow() throws(TransportError) {
    guard bytes.count < ReplyLimits.line else { throw .replyTooLong }
    var larger = [UInt8](repeating: 0, count: min(bytes.count * 4, ReplyLimits.line))
    larger.replaceSubrange(..<filled, with: bytes[..<filled])
    swap(&bytes, &larger)
    larger.wipe()
  }

  deinit { bytes.wipe() }
}

extension [UInt8] {
  /// Overwrites the bytes. There must be no other copy of the array: only this copy is wiped.
  mutating func wipe() {
    unsafe withUnsafeMutableBytes { unsafe credd_wipe($0.baseAddress, $0.count) }
  }
}
