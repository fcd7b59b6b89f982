/// A whole number of SRP, zero or more. Some of them are secret, so none of them shows.
public struct SRPInteger: Sendable, Equatable {
  /// Big-endian, without a zero byte in front: none for zero.
  public let magnitude: Secret

  /// - Parameter bigEndian: may have zero bytes in front.
  public init(_ bigEndian: some Collection<UInt8>) {
    magnitude = Secret(Array(bigEndian.drop { $0 == 0 }))
  }

  /// Reads hexadecimal digits: an odd number of them too, and zeros in front.
  ///
  /// - Parameter most: bytes of the largest number.
  init(
    hexadecimal text: some Collection<UInt8>, _ name: String, atMost most: Int
  ) throws(SRPError) {
    let digits = text.drop { $0 == UInt8(ascii: "0") }
    guard digits.count <= 2 * most else { throw .tooLong(name) }
    let even = digits.count.isMultiple(of: 2) ? [] : [UInt8(ascii: "0")]
    guard !text.isEmpty, let bytes = Hex.decode(even + digits) else {
      throw .notHexadecimal(name)
    }
    self.init(bytes)
  }

  public var isZero: Bool { magnitude.isEmpty }

  /// The bytes that go into hashes and over the wire: the shortest ones in two's complement, so a
  /// zero byte comes before a first byte with its top bit set, and before nothing.
  public var padded: [UInt8] {
    let needsZero = magnitude.bytes.first.map { $0 >= 0x80 } ?? true
    return (needsZero ? [0] : []) + magnitude.bytes
  }

  /// The same number in `count` bytes.
  ///
  /// It must fit into them.
  func bytes(_ count: Int) -> Secret {
    Secret([UInt8](repeating: 0, count: count - magnitude.count) + magnitude.bytes)
  }

  /// Lower-case digits without zeros in front, as SRP_A is sent.
  public var hexadecimal: String {
    let digits = Hex.encode(magnitude.bytes).drop { $0 == UInt8(ascii: "0") }
    return digits.isEmpty ? "0" : String(decoding: digits, as: UTF8.self)
  }
}

/// Why an exchange ends before anything is sent that is derived from the password. The server, or
/// somebody in its place, sent a wrong value. Names of values are those of the challenge.
public enum SRPError: Error, Sendable, Equatable {
  case missing(String)
  case notHexadecimal(String)
  case notBase64(String)
  case tooLong(String)
  /// B is zero modulo N, or not below N. With such a B its sender needs no password to know the
  /// secret.
  case serverValueOutOfRange
  /// u is zero: the password would not matter.
  case zeroScramble
  /// The base of the secret, or the secret itself, is zero.
  case zeroSecret

  /// The same for messages.
  public var asInput: InvalidInput {
    switch self {
    case .missing(let name): InvalidInput(field: name, reason: "is missing or empty")
    case .notHexadecimal(let name): InvalidInput(field: name, reason: "is not hexadecimal")
    case .notBase64(let name): InvalidInput(field: name, reason: "is not base64")
    case .tooLong(let name): InvalidInput(field: name, reason: "is too long")
    case .serverValueOutOfRange:
      InvalidInput(field: "SRP_B", reason: "is no number between zero and the prime")
    case .zeroScramble:
      InvalidInput(field: "SRP_B", reason: "makes a hash that is zero")
    case .zeroSecret: InvalidInput(field: "SRP_B", reason: "makes a secret that is zero")
    }
  }
}
