/// The first bytes of a store of sessions.
public struct StoreHeader: Sendable, Equatable {
  public static let byteCount = 64
  /// The offset at which the first record may begin. The first page contains only the header, so that
  /// pages of old records can be given back to the kernel.
  public static let recordsBegin: Int64 = 4096
  /// The version of the whole format. A reader accepts no other version. Fields may be added
  /// without a new version.
  public static let version: UInt32 = 1

  private static let magic = Array("CREDDSES".utf8)
  /// No boot has this id.
  static let unknownBoot = [UInt8](repeating: 0xFF, count: 16)
  /// What daemons up to 0.2.0 wrote in their shipped unit, which hid the id.
  private static let formerUnknownBoot = [UInt8](repeating: 0, count: 16)

  /// The boot id; ``unknownBoot`` if the daemon that wrote it was told none.
  public let boot: [UInt8]
  /// Higher in the newer of two stores.
  public let generation: UInt64
  /// The first eight bytes of each record of this store. Random and never 0, so that no secret can
  /// contain a forged record.
  public let marker: UInt64

  /// - Parameter boot: 16 bytes; nil if it is unknown.
  public init(boot: [UInt8]?, generation: UInt64, marker: UInt64) {
    self.boot = boot ?? Self.unknownBoot
    self.generation = generation
    self.marker = max(marker, 1)
  }

  public var encoded: [UInt8] {
    var bytes = Self.magic
    bytes.append(littleEndian: Self.version)
    bytes.append(littleEndian: UInt32(Self.byteCount))
    bytes.append(contentsOf: boot)
    bytes.append(littleEndian: generation)
    bytes.append(littleEndian: marker)
    bytes += [UInt8](repeating: 0, count: Self.byteCount - 4 - bytes.count)
    bytes.append(littleEndian: CRC32C.checksum(bytes.span))
    return bytes
  }

  /// The reason why a store cannot be used.
  public enum Refusal: Error, Sendable, Equatable, CustomStringConvertible {
    case damaged
    case version(UInt32)
    case otherBoot
    case unknownBoot

    public var description: String {
      switch self {
      case .damaged: "its header is damaged"
      case .version(let version): "it has format \(version), not \(StoreHeader.version)"
      case .otherBoot: "it was written before the last boot"
      case .unknownBoot:
        """
        credd cannot tell whether it was written since the last boot: the unit's ProcSubset=pid hides \
        the boot id, and Environment=CREDD_BOOT_ID=%b is missing in it
        """
      }
    }
  }

  /// - Parameter boot: the present boot id, 16 bytes; nil if it is unknown, which equals nothing.
  public init(reading bytes: [UInt8], boot: [UInt8]?) throws(Refusal) {
    guard bytes.count == Self.byteCount, bytes.starts(with: Self.magic),
      let version = UInt32(littleEndian: bytes[8..<12])
    else { throw .damaged }
    // Checked before the checksum, because another format may have another header.
    guard version == Self.version else { throw .version(version) }
    let content = Array(bytes.dropLast(4))
    guard UInt32(littleEndian: bytes.suffix(4)) == CRC32C.checksum(content.span),
      let generation = UInt64(littleEndian: bytes[32..<40]),
      let marker = UInt64(littleEndian: bytes[40..<48]), marker != 0
    else { throw .damaged }
    guard let boot else { throw .unknownBoot }
    // An upgrade from such a daemon loses no session.
    guard [boot, Self.formerUnknownBoot].contains(Array(bytes[16..<32])) else { throw .otherBoot }
    self.init(boot: boot, generation: generation, marker: marker)
  }
}

/// The frame of a record in a store: marker, sequence, length, CRC-32C of all other fields,
/// payload, padding to eight bytes. Removed records are overwritten with zeros.
public struct StoredRecord: Sendable, Equatable {
  public static let headerBytes = 24
  /// The length of the largest frame.
  public static let longest = headerBytes + padded(Limits.Store.sessionBytes)

  /// Grows with every record. Of two records of a session, the newer one has the higher number.
  public let sequence: UInt64
  /// Where the payload lies in the bytes that were searched.
  public let payload: Range<Int>

  static func padded(_ count: Int) -> Int { (count + 7) & ~7 }

  /// The length of a frame whose payload has this length.
  public static func frameBytes(payload count: Int) -> Int { headerBytes + padded(count) }

  /// - Parameter payload: at most ``Limits/Store/sessionBytes``.
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

  /// The result of ``find(in:at:marker:isLast:)``.
  public enum Finding: Sendable, Equatable {
    case record(StoredRecord)
    /// Eight zero bytes.
    case empty
    /// Eight bytes that begin no record.
    case damage
    /// More bytes are needed.
    case incomplete
    /// The end of the store.
    case end
  }

  /// Reads the bytes at one offset.
  ///
  /// - Parameters:
  ///   - offset: a multiple of eight, from the first of the bytes.
  ///   - isLast: whether the store ends with these bytes.
  public static func find(
    in bytes: [UInt8], at offset: Int, marker: UInt64, isLast: Bool
  ) -> Finding {
    guard offset >= 0, offset < bytes.count else { return isLast ? .end : .incomplete }
    guard let word = UInt64(littleEndian: bytes[offset...].prefix(8)) else {
      guard isLast else { return .incomplete }
      return bytes[offset...].allSatisfy { $0 == 0 } ? .empty : .damage
    }
    if word == 0 { return .empty }
    guard word == marker else { return .damage }
    let head = bytes[offset...].prefix(headerBytes)
    guard head.count == headerBytes,
      let sequence = UInt64(littleEndian: head.dropFirst(8).prefix(8)),
      let length = UInt32(littleEndian: head.dropFirst(16).prefix(4)),
      let crc = UInt32(littleEndian: head.dropFirst(20))
    else { return isLast ? .damage : .incomplete }
    guard length <= Limits.Store.sessionBytes else { return .damage }
    let payload = (offset + headerBytes)..<(offset + headerBytes + Int(length))
    guard payload.upperBound <= bytes.count else { return isLast ? .damage : .incomplete }
    let sum = CRC32C.update(.max, bytes.span, offset..<(offset + 20))
    guard ~CRC32C.update(sum, bytes.span, payload) == crc else { return .damage }
    return .record(StoredRecord(sequence: sequence, payload: payload))
  }
}

/// CRC-32C (Castagnoli; RFC 3720 appendix B.4), eight bytes a step. It detects torn writes, not
/// forgeries.
enum CRC32C {
  static func checksum(_ bytes: borrowing Span<UInt8>) -> UInt32 {
    ~update(.max, bytes, 0..<bytes.count)
  }

  /// Continues from the complement of a checksum.
  ///
  /// - Parameter range: within `bytes`.
  static func update(
    _ crc: UInt32, _ bytes: borrowing Span<UInt8>, _ range: Range<Int>
  ) -> UInt32 {
    // A local copy, because each use of the global would check whether it is initialised.
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

  /// Eight tables of 256 entries: the effect of a byte with 0 to 7 bytes after it.
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
