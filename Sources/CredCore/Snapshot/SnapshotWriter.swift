/// Appends tagged fields: one byte of tag, four of length, the value. Numbers are little-endian.
///
/// What is nil is left out. A tag's meaning never changes, and the number of one that is no longer
/// written is not used again: an older daemon may read what a newer one wrote.
struct SnapshotWriter: Undisclosed {
  private(set) var bytes: [UInt8] = []

  init(capacity: Int = 0) {
    bytes.reserveCapacity(capacity)
  }

  mutating func field(_ tag: UInt8, _ value: some Collection<UInt8>) {
    bytes.append(tag)
    bytes.append(littleEndian: UInt32(truncatingIfNeeded: value.count))
    bytes.append(contentsOf: value)
  }

  mutating func field(_ tag: UInt8, _ value: Secret?) {
    if let value { field(tag, value.bytes) }
  }

  mutating func field(_ tag: UInt8, _ value: String?) {
    if let value { field(tag, value.utf8) }
  }

  mutating func field(_ tag: UInt8, _ value: UInt8) {
    field(tag, CollectionOfOne(value))
  }

  mutating func field(_ tag: UInt8, _ value: UInt64) {
    bytes.append(tag)
    bytes.append(littleEndian: UInt32(8))
    bytes.append(littleEndian: value)
  }

  mutating func field(_ tag: UInt8, _ value: Int64?) {
    if let value { field(tag, UInt64(bitPattern: value)) }
  }

  mutating func field(_ tag: UInt8, _ value: Instant?) { field(tag, value?.nanoseconds) }
  mutating func field(_ tag: UInt8, _ value: WallTime?) { field(tag, value?.milliseconds) }
  mutating func field(_ tag: UInt8, _ value: Duration?) { field(tag, value?.wholeNanoseconds) }

  /// A field that holds fields.
  mutating func group(_ tag: UInt8, _ fields: (inout SnapshotWriter) -> Void) {
    bytes.append(tag)
    let place = bytes.count
    bytes.append(littleEndian: UInt32(0))
    fields(&self)
    let length = UInt32(truncatingIfNeeded: bytes.count - place - 4)
    for index in 0..<4 { bytes[place + index] = UInt8(truncatingIfNeeded: length >> (8 * index)) }
  }
}

extension [UInt8] {
  mutating func append(littleEndian value: some FixedWidthInteger) {
    for shift in stride(from: 0, to: value.bitWidth, by: 8) {
      append(UInt8(truncatingIfNeeded: value >> shift))
    }
  }
}
