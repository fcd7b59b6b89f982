/// CRC-32C (Castagnoli; RFC 3720 appendix B.4), eight bytes a step: finds what a torn write left,
/// not what somebody forged.
enum CRC32C {
  static func checksum(_ bytes: borrowing Span<UInt8>) -> UInt32 {
    ~update(.max, bytes, 0..<bytes.count)
  }

  /// Goes on from the complement of a checksum.
  ///
  /// - Parameter range: within `bytes`.
  static func update(
    _ crc: UInt32, _ bytes: borrowing Span<UInt8>, _ range: Range<Int>
  ) -> UInt32 {
    // Looked up once: the global is made at its first use, which each use would ask about.
    let tables = Self.tables
    func table(_ row: Int, _ value: UInt32) -> UInt32 { tables[row &* 256 &+ Int(value & 0xFF)] }
    var crc = crc
    var index = range.lowerBound
    while index &+ 8 <= range.upperBound {
      let low = crc ^ word(bytes, index)
      let high = word(bytes, index &+ 4)
      crc =
        table(7, low) ^ table(6, low >> 8) ^ table(5, low >> 16) ^ table(4, low >> 24)
        ^ table(3, high) ^ table(2, high >> 8) ^ table(1, high >> 16) ^ table(0, high >> 24)
      index &+= 8
    }
    while index < range.upperBound {
      crc = table(0, crc ^ UInt32(bytes[index])) ^ crc >> 8
      index &+= 1
    }
    return crc
  }

  private static func word(_ bytes: borrowing Span<UInt8>, _ index: Int) -> UInt32 {
    UInt32(bytes[index]) | UInt32(bytes[index &+ 1]) << 8 | UInt32(bytes[index &+ 2]) << 16
      | UInt32(bytes[index &+ 3]) << 24
  }

  /// Eight tables of 256: what a byte means with so many bytes behind it.
  private static let tables: [UInt32] = {
    var tables = (0..<256 as Range<UInt32>).map { byte in
      (0..<8).reduce(byte) { crc, _ in crc & 1 == 0 ? crc >> 1 : crc >> 1 ^ 0x82F6_3B78 }
    }
    for index in 256..<2048 {
      let before = tables[index - 256]
      tables.append(before >> 8 ^ tables[Int(before & 0xFF)])
    }
    return tables
  }()
}
