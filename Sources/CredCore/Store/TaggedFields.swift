/// Reads tagged fields. No input makes it trap.
struct SnapshotReader {
  /// One field. The tag decides how its value is read.
  struct Field {
    let tag: UInt8
    let value: ArraySlice<UInt8>
  }

  private var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) {
    rest = bytes
  }

  /// The next field; nil at the end.
  mutating func next() throws(SnapshotError) -> Field? {
    guard let tag = rest.first else { return nil }
    rest = rest.dropFirst()
    guard let length = UInt32(littleEndian: rest.prefix(4)) else { throw .truncated }
    rest = rest.dropFirst(4)
    let value = rest.prefix(Int(length))
    guard value.count == Int(length) else { throw .truncated }
    rest = rest.dropFirst(value.count)
    return Field(tag: tag, value: value)
  }
}

extension SnapshotReader.Field {
  var fields: SnapshotReader { SnapshotReader(value) }

  func secret(
    _ name: String, limit: Int = Limits.Store.secretBytes
  ) throws(SnapshotError) -> Secret {
    guard value.count <= limit else { throw .tooLong(name) }
    return Secret(Array(value))
  }

  func text(_ name: String) throws(SnapshotError) -> String {
    guard value.count <= Limits.Store.textBytes else { throw .tooLong(name) }
    guard let text = String(validating: value, as: UTF8.self) else { throw .invalid(name) }
    return text
  }

  func byte(_ name: String) throws(SnapshotError) -> UInt8 {
    guard value.count == 1, let byte = value.first else { throw .invalid(name) }
    return byte
  }

  func word(_ name: String) throws(SnapshotError) -> UInt64 {
    guard value.count == 8, let word = UInt64(littleEndian: value) else { throw .invalid(name) }
    return word
  }

  func integer(_ name: String) throws(SnapshotError) -> Int64 {
    Int64(bitPattern: try word(name))
  }

  func instant(_ name: String) throws(SnapshotError) -> Instant {
    Instant(nanoseconds: try integer(name))
  }

  func wallTime(_ name: String) throws(SnapshotError) -> WallTime {
    WallTime(milliseconds: try integer(name))
  }

  func duration(_ name: String) throws(SnapshotError) -> Duration {
    .nanoseconds(try integer(name))
  }

  /// Reads a count.
  func count(_ name: String) throws(SnapshotError) -> Int {
    let count = try integer(name)
    // Larger than any real count, and small enough that adding cannot overflow.
    guard (0..<(1 << 62)).contains(count) else { throw .invalid(name) }
    return Int(count)
  }
}

extension FixedWidthInteger {
  /// Returns nil unless the number of bytes is exactly the integer's size.
  init?(littleEndian bytes: ArraySlice<UInt8>) {
    guard bytes.count * 8 == Self.bitWidth else { return nil }
    self = 0
    for byte in bytes.reversed() { self = self << 8 | Self(truncatingIfNeeded: byte) }
  }
}

/// Appends tagged fields: one byte of tag, four of length, the value. Numbers are little-endian. A
/// nil value is omitted.
///
/// The meaning of a tag never changes, and an unused tag is not used again, because an older daemon
/// may read the fields of a newer one.
struct SnapshotWriter: Redacted {
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

  /// A field that contains fields.
  mutating func group(_ tag: UInt8, _ fields: (inout SnapshotWriter) -> Void) {
    bytes.append(tag)
    let begin = bytes.count
    bytes.append(littleEndian: UInt32(0))
    fields(&self)
    let length = UInt32(truncatingIfNeeded: bytes.count - begin - 4)
    for index in 0..<4 { bytes[begin + index] = UInt8(truncatingIfNeeded: length >> (8 * index)) }
  }
}

extension [UInt8] {
  mutating func append(littleEndian value: some FixedWidthInteger) {
    for shift in stride(from: 0, to: value.bitWidth, by: 8) {
      append(UInt8(truncatingIfNeeded: value >> shift))
    }
  }
}
