import TestSupport
import Testing

@testable import CredCore

/// How records stand in a store.
struct StoreFormatTests {
  private let marker: UInt64 = 0x1122_3344_5566_7788

  private func find(_ bytes: [UInt8], at place: Int = 0, isLast: Bool = true)
    -> StoredRecord.Finding
  {
    StoredRecord.find(in: bytes, at: place, marker: marker, isLast: isLast)
  }

  @Test(arguments: 0..<20)
  func recordIsFound(_ count: Int) {
    let payload = (0..<count).map { UInt8($0 + 1) }
    let frame = StoredRecord.frame(payload, sequence: 9, marker: marker)
    expect(frame.count, equals: StoredRecord.frameBytes(payload: count))
    expect(frame.count.isMultiple(of: 8))
    expect(find(frame), equals: .record(StoredRecord(sequence: 9, payload: 24..<(24 + count))))
    expect(find(frame, at: frame.count), equals: .end)
    expect(find([UInt8](repeating: 0, count: 8) + frame), equals: .empty)
  }

  @Test func everyFlippedBitIsFound() {
    let frame = StoredRecord.frame(Array("payload!".utf8), sequence: 1, marker: marker)
    for index in frame.indices {
      for bit in 0..<8 {
        var bytes = frame
        bytes[index] ^= 1 << bit
        expect(find(bytes), equals: .damage)
      }
    }
  }

  @Test func tornRecordIsDamageAtTheEndAndIncompleteBefore() {
    let frame = StoredRecord.frame(Array("payload!".utf8), sequence: 1, marker: marker)
    for count in 1..<frame.count {
      let torn = Array(frame.prefix(count))
      expect(find(torn), equals: .damage)
      expect(find(torn, isLast: false), equals: .incomplete)
    }
  }

  @Test func aRecordOfAnotherStoreIsDamage() {
    let foreign = StoredRecord.frame(Array("payload!".utf8), sequence: 1, marker: marker ^ 1)
    expect(find(foreign), equals: .damage)
  }

  @Test func lengthBeyondTheLimitIsDamage() {
    var frame = StoredRecord.frame(Array("payload!".utf8), sequence: 1, marker: marker)
    frame[18] = 0xFF
    expect(find(frame, isLast: false), equals: .damage)
  }

  /// RFC 3720, B.4.
  @Test(
    arguments: [
      ([UInt8](repeating: 0, count: 32), 0x8A91_36AA),
      ([UInt8](repeating: 0xFF, count: 32), 0x62A8_AB43),
      ((0..<32).map { UInt8($0) }, 0x46DD_794E), (Array("123456789".utf8), 0xE306_9283),
    ] as [([UInt8], UInt32)])
  func theChecksumIsCRC32C(_ bytes: [UInt8], _ crc: UInt32) {
    expect(CRC32C.checksum(bytes.span), equals: crc)
  }

  // MARK: The header

  private let boot = (0..<16).map { UInt8($0) }

  @Test func headerIsRead() throws {
    let header = StoreHeader(boot: boot, generation: 3, marker: marker)
    expect(header.encoded.count, equals: StoreHeader.byteCount)
    expect(try StoreHeader(reading: header.encoded, boot: boot), equals: header)
  }

  @Test func damagedHeaderIsRefused() {
    let good = StoreHeader(boot: boot, generation: 3, marker: marker).encoded
    for index in good.indices where !(8..<12).contains(index) {
      var bytes = good
      bytes[index] ^= 0x10
      #expect(throws: StoreHeader.Refusal.damaged) {
        try StoreHeader(reading: bytes, boot: boot)
      }
    }
    #expect(throws: StoreHeader.Refusal.damaged) { try StoreHeader(reading: [], boot: boot) }
    #expect(throws: StoreHeader.Refusal.damaged) {
      try StoreHeader(reading: good.dropLast(), boot: boot)
    }
  }

  @Test func anotherFormatOrBootIsSaid() {
    var other = StoreHeader(boot: boot, generation: 3, marker: marker).encoded
    #expect(throws: StoreHeader.Refusal.otherBoot) {
      try StoreHeader(reading: other, boot: boot.reversed())
    }
    other[8] = 2
    #expect(throws: StoreHeader.Refusal.version(2)) {
      try StoreHeader(reading: other, boot: boot)
    }
  }

  @Test func `an unknown boot is no boot's equal`() {
    let unknown = StoreHeader(boot: nil, generation: 3, marker: marker).encoded
    #expect(throws: StoreHeader.Refusal.unknownBoot) {
      try StoreHeader(reading: unknown, boot: nil)
    }
    #expect(throws: StoreHeader.Refusal.otherBoot) {
      try StoreHeader(reading: unknown, boot: boot)
    }
    let known = StoreHeader(boot: boot, generation: 3, marker: marker).encoded
    #expect(throws: StoreHeader.Refusal.unknownBoot) {
      try StoreHeader(reading: known, boot: nil)
    }
  }

  @Test func `zeros that a former daemon wrote become the present boot`() throws {
    let zeros = [UInt8](repeating: 0, count: 16)
    let former = StoreHeader(boot: zeros, generation: 3, marker: marker).encoded
    let read = try StoreHeader(reading: former, boot: boot)
    expect(read, equals: StoreHeader(boot: boot, generation: 3, marker: marker))
  }
}
