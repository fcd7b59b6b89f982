/// The first bytes of a session store.
public struct StoreHeader: Sendable, Equatable {
  public static let byteCount = 64
  /// Where the first record may stand: the header has the first page for itself, so that the pages
  /// of old records can be given back.
  public static let recordsBegin: Int64 = 4096
  /// Of the whole format. A reader takes no other; within one, fields may be added.
  public static let version: UInt32 = 1

  private static let magic = Array("CREDDSES".utf8)

  /// Which boot the instants are of; zeros where the kernel did not say.
  public let boot: [UInt8]
  /// Of two stores, which one is newer.
  public let generation: UInt64
  /// How each record of this store begins. It is random and never 0, so that no token can hold what
  /// looks like a record.
  public let marker: UInt64

  /// - Parameter boot: 16 bytes.
  public init(boot: [UInt8], generation: UInt64, marker: UInt64) {
    self.boot = Array((boot + [UInt8](repeating: 0, count: 16)).prefix(16))
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

  /// Why a store cannot be used.
  public enum Refusal: Error, Sendable, Equatable, CustomStringConvertible {
    case damaged
    case version(UInt32)
    case otherBoot

    public var description: String {
      switch self {
      case .damaged: "its header is damaged"
      case .version(let version): "it has format \(version), not \(StoreHeader.version)"
      case .otherBoot: "it was written before the last boot"
      }
    }
  }

  /// - Parameter boot: the present one, 16 bytes.
  public init(reading bytes: [UInt8], boot: [UInt8]) throws(Refusal) {
    guard bytes.count == Self.byteCount, bytes.starts(with: Self.magic),
      let version = UInt32(littleEndian: bytes[8..<12])
    else { throw .damaged }
    // Before the checksum: another format may have another header.
    guard version == Self.version else { throw .version(version) }
    let content = Array(bytes.dropLast(4))
    guard UInt32(littleEndian: bytes.suffix(4)) == CRC32C.checksum(content.span),
      let generation = UInt64(littleEndian: bytes[32..<40]),
      let marker = UInt64(littleEndian: bytes[40..<48]), marker != 0
    else { throw .damaged }
    self.init(boot: Array(bytes[16..<32]), generation: generation, marker: marker)
    guard self.boot == boot else { throw .otherBoot }
  }
}
