/// The frame of a record in a session store: marker, sequence, length, CRC-32C of all but itself,
/// payload; padded to eight bytes. Zeros stand between records, where others were.
public struct StoredRecord: Sendable, Equatable {
  public static let headerBytes = 24
  /// The largest frame there can be.
  public static let longest = headerBytes + padded(Limits.snapshotBytes)

  /// Grows with every record, so that of two of one session the higher is the newer.
  public let sequence: UInt64
  /// Where its payload is in the bytes that were searched.
  public let payload: Range<Int>

  static func padded(_ count: Int) -> Int { (count + 7) & ~7 }

  /// Bytes that a record with such a payload takes.
  public static func frameBytes(payload count: Int) -> Int { headerBytes + padded(count) }

  /// - Parameter payload: at most ``Limits/snapshotBytes``.
  public static func frame(_ payload: [UInt8], sequence: UInt64, marker: UInt64) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(frameBytes(payload: payload.count))
    bytes.append(littleEndian: marker)
    bytes.append(littleEndian: sequence)
    bytes.append(littleEndian: UInt32(truncatingIfNeeded: payload.count))
    let crc = CRC32C.update(.max, bytes.span, 0..<bytes.count)
    bytes.append(littleEndian: ~CRC32C.update(crc, payload.span, 0..<payload.count))
    bytes.append(contentsOf: payload)
    bytes += repeatElement(0, count: padded(payload.count) - payload.count)
    return bytes
  }

  /// What stands at a place of a store.
  public enum Finding: Sendable, Equatable {
    case record(StoredRecord)
    /// Eight bytes of nothing.
    case empty
    /// Eight bytes of something that is no record.
    case damage
    /// More bytes are needed to tell.
    case incomplete
    /// Nothing follows.
    case end
  }

  /// Looks at one place.
  ///
  /// - Parameters:
  ///   - place: a multiple of eight from where the store's bytes begin.
  ///   - isLast: nothing follows these bytes.
  public static func find(
    in bytes: [UInt8], at place: Int, marker: UInt64, isLast: Bool
  ) -> Finding {
    guard place >= 0, place < bytes.count else { return isLast ? .end : .incomplete }
    guard let word = UInt64(littleEndian: bytes[place...].prefix(8)) else {
      guard isLast else { return .incomplete }
      return bytes[place...].allSatisfy { $0 == 0 } ? .empty : .damage
    }
    if word == 0 { return .empty }
    guard word == marker else { return .damage }
    let head = bytes[place...].prefix(headerBytes)
    guard head.count == headerBytes,
      let sequence = UInt64(littleEndian: head.dropFirst(8).prefix(8)),
      let length = UInt32(littleEndian: head.dropFirst(16).prefix(4)),
      let crc = UInt32(littleEndian: head.dropFirst(20))
    else { return isLast ? .damage : .incomplete }
    guard length <= Limits.snapshotBytes else { return .damage }
    let payload = (place + headerBytes)..<(place + headerBytes + Int(length))
    guard payload.upperBound <= bytes.count else { return isLast ? .damage : .incomplete }
    let sum = CRC32C.update(.max, bytes.span, place..<(place + 20))
    guard ~CRC32C.update(sum, bytes.span, payload) == crc else { return .damage }
    return .record(StoredRecord(sequence: sequence, payload: payload))
  }
}
