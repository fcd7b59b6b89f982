import CredCore

/// The second reading of the frames of a store.
enum SecondStore {
  /// CRC-32C bit by bit, as RFC 3720 defines it.
  static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
    var register: UInt32 = .max
    for byte in bytes {
      register ^= UInt32(byte)
      for _ in 0..<8 {
        register = register & 1 == 1 ? register >> 1 ^ 0x82F6_3B78 : register >> 1
      }
    }
    return ~register
  }

  static func number(_ bytes: some Collection<UInt8>) -> UInt64 {
    bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// What is at a place, in words.
  static func find(in bytes: [UInt8], at place: Int, marker: UInt64, isLast: Bool) -> String {
    let rest = Array(bytes.dropFirst(place))
    let short = isLast ? "damage" : "incomplete"
    if rest.isEmpty { return isLast ? "end" : "incomplete" }
    if rest.prefix(8).allSatisfy({ $0 == 0 }), rest.count >= 8 || isLast { return "empty" }
    guard rest.count >= 8 else { return short }
    guard number(rest.prefix(8)) == marker else { return "damage" }
    guard rest.count >= 24 else { return short }
    let length = Int(number(rest[16..<20]))
    guard length <= 1 << 20 else { return "damage" }
    guard rest.count >= 24 + length else { return short }
    let covered = Array(rest.prefix(20) + rest[24..<(24 + length)])
    guard UInt64(checksum(covered)) == number(rest[20..<24]) else { return "damage" }
    return "record \(number(rest[8..<16])) at \(place + 24) of \(length)"
  }

  /// The same words for what the daemon found.
  static func shown(_ finding: StoredRecord.Finding) -> String {
    switch finding {
    case .record(let record):
      "record \(record.sequence) at \(record.payload.lowerBound) of \(record.payload.count)"
    case .empty: "empty"
    case .damage: "damage"
    case .incomplete: "incomplete"
    case .end: "end"
    }
  }

  /// A header: magic, version, length, boot, generation, marker, zeros, checksum.
  static func header(_ bytes: [UInt8], boot: [UInt8]) -> String {
    guard bytes.count == 64, bytes.starts(with: "CREDDSES".utf8) else { return "damaged" }
    let version = number(bytes[8..<12])
    guard version == 1 else { return "version \(version)" }
    guard UInt64(checksum(bytes.prefix(60))) == number(bytes[60..<64]),
      number(bytes[40..<48]) != 0
    else { return "damaged" }
    let isOfBoot = Array(bytes[16..<32]) == boot || bytes[16..<32].allSatisfy { $0 == 0 }
    guard isOfBoot else { return "other boot" }
    return "\(number(bytes[32..<40])) \(number(bytes[40..<48]))"
  }
}

/// The second reading of the file of IdentityIds: the lines and whether it is whole.
struct SecondIdentities: Equatable {
  var lines: [[String]] = []
  var isWhole = true

  init(_ bytes: [UInt8]) {
    var rows = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map { Array($0) }[...]
    guard rows.popFirst() == Array("credd-identities 1".utf8) else {
      isWhole = false
      return
    }
    while let row = rows.popFirst() {
      let number = String(validating: row.dropFirst(4), as: UTF8.self).flatMap { Int($0) }
      if row.starts(with: "end ".utf8), let number {
        isWhole = isWhole && number == lines.count
        return
      }
      if let line = Self.line(row) { lines.append(line) } else { isWhole = false }
    }
    isWhole = false
  }

  private static func line(_ row: [UInt8]) -> [String]? {
    let fields = row.split(separator: 0x09, omittingEmptySubsequences: false)
      .map { field in
        SecondPercent.decode(field, isForm: false).flatMap { String(validating: $0, as: UTF8.self) }
      }
    let texts = fields.compactMap { $0 }
    guard row.count <= 8192, texts.count == 8, fields.count == 8, let uid = UInt32(texts[0]),
      SecondRules.isProfileName(texts[1]), SecondRules.isIdentityID(texts[6]),
      texts[7] == "guest" || texts[7] == "user"
    else { return nil }
    return ["\(uid)"] + texts.dropFirst()
  }
}
