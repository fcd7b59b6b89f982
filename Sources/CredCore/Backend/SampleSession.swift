/// A sign-in at the sample server: a device's id and the key that the server gave it. A later
/// sign-in with the same id makes the key invalid.
public struct SampleSession: Sendable, Equatable {
  /// 32 lower-case hexadecimal digits.
  public let uid: String
  /// 32 hexadecimal digits: signs as text, decrypts as the 16 bytes it stands for.
  public let key: Secret

  init(uid: String, key: Secret) {
    self.uid = uid
    self.key = key
  }

  /// Reads ``packed``; nil for anything else.
  public init?(packed: Secret) {
    let parts = packed.bytes.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard parts.count == 2, let uid = String(validating: parts[0], as: UTF8.self),
      uid.utf8.count == 32, Hex.decode(parts[0]) != nil, Self.isKey(parts[1])
    else { return nil }
    self.uid = uid
    self.key = Secret(Array(parts[1]))
  }

  /// `uid:key`, for where other backends have a session token.
  public var packed: Secret {
    Secret(Array(uid.utf8) + [UInt8(ascii: ":")] + key.bytes)
  }

  /// A new id for this host and user.
  public static func makeUID(using generator: inout some RandomNumberGenerator) -> String {
    let bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    return String(decoding: Hex.encode(bytes), as: UTF8.self)
  }

  static func isKey(_ text: some Collection<UInt8>) -> Bool {
    text.count == 32 && Hex.decode(text) != nil
  }
}
