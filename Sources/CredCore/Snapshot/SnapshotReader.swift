/// Reads what ``SnapshotWriter`` wrote, or anything else: no input makes it trap.
struct SnapshotReader {
  /// One field, whose value is read as whatever its tag means.
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
    _ name: String, limit: Int = Limits.snapshotSecretBytes
  ) throws(SnapshotError) -> Secret {
    guard value.count <= limit else { throw .tooLong(name) }
    return Secret(Array(value))
  }

  func text(_ name: String) throws(SnapshotError) -> String {
    guard value.count <= Limits.snapshotTextBytes else { throw .tooLong(name) }
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

  /// A number of things that happened.
  func count(_ name: String) throws(SnapshotError) -> Int {
    let count = try integer(name)
    // One of these a nanosecond is more than there can be, and one more still fits.
    guard (0..<(1 << 62)).contains(count) else { throw .invalid(name) }
    return Int(count)
  }
}

extension FixedWidthInteger {
  /// Nil unless there are exactly as many bytes as it has.
  init?(littleEndian bytes: some Collection<UInt8>) {
    guard bytes.count * 8 == Self.bitWidth else { return nil }
    self = 0
    for (index, byte) in bytes.enumerated() {
      self |= Self(truncatingIfNeeded: byte) << (8 * index)
    }
  }
}
