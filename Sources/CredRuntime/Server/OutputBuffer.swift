internal import CLinux
internal import Glibc

/// Gathers the replies of one connection's turn, so that a pipeline is answered by one write.
/// Shared by all connections: it is empty between turns, and wiped.
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

  /// False where there is not enough room; then nothing is appended.
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

  /// Answers what `send` does.
  func send(to descriptor: Int32) -> Int {
    unsafe credd_send(descriptor, memory.baseAddress, used)
  }

  /// What the kernel did not take; the buffer is empty afterwards.
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
