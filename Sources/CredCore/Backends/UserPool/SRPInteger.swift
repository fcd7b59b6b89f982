/// A whole number of SRP, zero or more. Some numbers are secret, so no number is shown in logs.
public struct SRPInteger: Sendable, Equatable {
  /// Big-endian, without zero bytes in front; empty for zero.
  public let magnitude: Secret

  /// - Parameter bigEndian: the bytes, which may have zeros in front.
  public init(_ bigEndian: some Collection<UInt8>) {
    magnitude = Secret(Array(bigEndian.drop { $0 == 0 }))
  }

  /// Reads hexadecimal digits. Their number may be odd, and there may be zeros in front.
  ///
  /// - Parameter most: the length of the largest number in bytes.
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

  /// The bytes that go into hashes and over the wire: the shortest form in two's complement. So a
  /// zero byte comes first if the top bit of the first byte is set, or if there are no bytes.
  public var padded: [UInt8] {
    let needsZero = magnitude.bytes.first.map { $0 >= 0x80 } ?? true
    return (needsZero ? [0] : []) + magnitude.bytes
  }

  /// The same number in `count` bytes.
  ///
  /// The number must fit into them.
  func bytes(_ count: Int) -> Secret {
    Secret([UInt8](repeating: 0, count: count - magnitude.count) + magnitude.bytes)
  }

  /// Lower-case digits without zeros in front, as SRP_A is sent.
  public var hexadecimal: String {
    let digits = Hex.encode(magnitude.bytes).drop { $0 == UInt8(ascii: "0") }
    return digits.isEmpty ? "0" : String(decoding: digits, as: UTF8.self)
  }
}

/// Why an exchange ends before credd sends anything derived from the password. The server, or an
/// attacker in its place, sent a wrong value. Values have the names that the challenge gives them.
public enum SRPError: Error, Sendable, Equatable {
  case missing(String)
  case notHexadecimal(String)
  case notBase64(String)
  case tooLong(String)
  /// B is zero modulo N, or not below N. With such a B, the sender would know the secret without
  /// the password.
  case serverValueOutOfRange
  /// u is zero: the secret would not depend on the password.
  case zeroScramble
  /// The base of the secret, or the secret itself, is zero.
  case zeroSecret

  /// This error as ``InvalidInput``, for messages.
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
