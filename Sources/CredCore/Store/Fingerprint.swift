/// A hash of settings (FNV-1a, 64 bits). Equal hashes mean the same settings as before a restart.
///
/// It need not withstand an attacker: only root writes the configuration.
public struct Fingerprint: Sendable, Hashable {
  public private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

  init() {}

  init(value: UInt64) {
    self.value = value
  }

  /// Adds a text with its length, so that different lists of texts differ. Nil is not the empty text.
  mutating func add(_ text: String?) {
    add(byte: text == nil ? 0 : 1)
    guard let text else { return }
    let count = UInt64(text.utf8.count)
    for shift in stride(from: 0, to: 64 as UInt64, by: 8) {
      add(byte: UInt8(truncatingIfNeeded: count >> shift))
    }
    for byte in text.utf8 { add(byte: byte) }
  }

  mutating func add(_ flag: Bool) { add(byte: flag ? 3 : 2) }

  private mutating func add(byte: UInt8) {
    value = (value ^ UInt64(byte)) &* 0x100_0000_01B3
  }
}
