import CredCore

/// A secret that the server gives out and later finds again by its id: `crh1_ID_SECRET`. The
/// database keeps only a hash of the secret. A secret of 256 random bits needs no slow hash.
public struct Ticket: Sendable, Equatable {
  public enum Kind: String, Sendable {
    case host = "crh1"
    case session = "crs1"
    case invitation = "cri1"
  }

  public let kind: Kind
  /// 16 hexadecimal digits.
  public let id: String
  private let secret: String

  public init(_ kind: Kind, random: inout some RandomNumberGenerator) {
    self.kind = kind
    id = Hex.random(bytes: 8, &random)
    secret = Hex.random(bytes: 32, &random)
  }

  /// Reads a ticket of one kind; nil for anything else.
  public init?(_ text: some StringProtocol, _ kind: Kind) {
    let parts = text.split(separator: "_", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0] == kind.rawValue, Hex.isHex(parts[1], count: 16),
      Hex.isHex(parts[2], count: 64)
    else { return nil }
    self.kind = kind
    id = String(parts[1])
    secret = String(parts[2])
  }

  /// What its holder sends.
  public var text: String { "\(kind.rawValue)_\(id)_\(secret)" }

  /// What the database keeps.
  public var hash: String { Hex.encode(Digest.sha256(text)) }

  /// Compares in constant time.
  public func matches(hash stored: String) -> Bool { hash.equalsInConstantTime(stored) }
}

/// Lower-case hexadecimal text.
public enum Hex {
  public static func encode(_ bytes: some Sequence<UInt8>) -> String {
    String(decoding: CredCore.Hex.encode(bytes), as: UTF8.self)
  }

  public static func decode(_ text: String) -> [UInt8]? { CredCore.Hex.decode(text.utf8) }

  public static func random(
    bytes count: Int, _ random: inout some RandomNumberGenerator
  ) -> String {
    encode((0..<count).map { _ in UInt8.random(in: 0...255, using: &random) })
  }

  static func isHex(_ text: some StringProtocol, count: Int) -> Bool {
    text.utf8.count == count
      && text.utf8.allSatisfy {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
          || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
      }
  }
}

extension String {
  /// For secrets: the time depends on the length alone.
  public func equalsInConstantTime(_ other: String) -> Bool {
    let left = Array(utf8)
    let right = Array(other.utf8)
    guard left.count == right.count else { return false }
    return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
