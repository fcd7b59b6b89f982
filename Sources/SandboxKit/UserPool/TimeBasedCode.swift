import FoundationEssentials

/// The codes of an authenticator app: RFC 6238 with SHA-1, 30 seconds and 6 digits.
enum TimeBasedCode {
  static let period = 30

  static func code(secret: [UInt8], step: Int) -> String {
    let counter = (0..<8).map { UInt8(truncatingIfNeeded: step >> (56 - 8 * $0)) }
    let digest = Cryptography.hmacSHA1(key: secret, message: counter)
    let offset = Int(digest[19] & 15)
    let number = digest[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) } & 0x7FFF_FFFF
    let digits = String(number % 1_000_000)
    return String(repeating: "0", count: 6 - digits.count) + digits
  }

  static func step(at time: Date) -> Int { time.epochSeconds / period }

  /// The step of this code, if it is the present one, the one before or the one after.
  static func step(of code: String, secret: [UInt8], at time: Date) -> Int? {
    let present = step(at: time)
    return [present, present - 1, present + 1].first {
      $0 >= 0 && Cryptography.areEqual(self.code(secret: secret, step: $0), code)
    }
  }
}

/// Base32 without padding (RFC 4648 §6).
enum Base32 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

  static func text(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    var (buffer, bits) = (0, 0)
    for byte in bytes {
      (buffer, bits) = ((buffer & 31) << 8 | Int(byte), bits + 8)
      while bits >= 5 {
        bits -= 5
        text.append(alphabet[buffer >> bits & 31])
      }
    }
    if bits > 0 { text.append(alphabet[buffer << (5 - bits) & 31]) }
    return String(decoding: text, as: UTF8.self)
  }

  static func bytes(_ text: String) -> [UInt8]? {
    var bytes: [UInt8] = []
    var (buffer, bits) = (0, 0)
    for character in text.utf8 {
      guard let value = alphabet.firstIndex(of: character) else { return nil }
      (buffer, bits) = ((buffer & 255) << 5 | value, bits + 5)
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: buffer >> bits))
      }
    }
    return bytes
  }
}

/// An authenticator app that a user has set up.
struct SoftwareToken: Sendable {
  var secret: [UInt8]
  var name: String?
  /// The step of the latest accepted code. Neither this step nor an older one is accepted again.
  var lastStep: Int?

  enum Verdict { case right, wrong, used }

  mutating func judge(_ code: String, at time: Date) -> Verdict {
    guard let step = TimeBasedCode.step(of: code, secret: secret, at: time) else { return .wrong }
    if let lastStep, step <= lastStep { return .used }
    lastStep = step
    return .right
  }
}
