import FoundationEssentials
import SeededRandom

/// The server's record of a password.
struct SRPVerifier: Sendable, Equatable {
  let salt: Natural
  /// g^x.
  let verifier: Natural

  init(salt: Natural, verifier: Natural) {
    self.salt = salt
    self.verifier = verifier
  }

  /// - Parameter identity: the pool's name and the user's, or group key and device key.
  init(identity: String, password: String, salt: Natural) {
    let inner = Cryptography.sha256(Array("\(identity):\(password)".utf8))
    let x = Natural(Cryptography.sha256(salt.padded + inner))
    self.init(salt: salt, verifier: SRPGroup.power(SRPGroup.generator, x))
  }

  func matches(identity: String, password: String) -> Bool {
    SRPVerifier(identity: identity, password: password, salt: salt) == self
  }
}

/// The server's half of one proof of a password: its numbers, and the values that were sent to the
/// client.
struct SRPExchange: Sendable {
  /// The rare shape that the server's number must have, so that clients often meet rare cases.
  enum Shape: String, Sendable, CaseIterable {
    case any, shortB, oddB, topBitB, shortU, topBitU, shortS, topBitS

    /// The cheap shapes, which follow each other from sign-in to sign-in.
    static let cycle: [Shape] = [.any, .shortB, .topBitB, .shortU, .topBitU, .oddB]
  }

  /// The most draws, so that a shape costs only seconds.
  private static let maximumDraws = 20_000
  private static let blockBytes = 1104

  /// The pool's name, or the key of a device group.
  let domain: String
  /// USER_ID_FOR_SRP, or the key of a device.
  let name: String
  let verifier: SRPVerifier
  let clientValue: Natural
  let secret: Natural
  let serverValue: Natural
  /// Base64, as it is sent.
  let secretBlock: String

  /// - Returns: nil if A is 0 modulo N.
  init?(
    domain: String, name: String, verifier: SRPVerifier, clientValue: Natural, shape: Shape,
    random: inout SeededGenerator
  ) {
    guard !SRPGroup.reduced(clientValue).isZero else { return nil }
    self.domain = domain
    self.name = name
    self.verifier = verifier
    self.clientValue = clientValue
    secretBlock = base64(random.bytes(SRPExchange.blockBytes))
    // The next secret is higher by one, so that the next B costs only one multiplication.
    var secret = Natural(random.bytes(32))
    var power = SRPGroup.power(SRPGroup.generator, secret)
    for _ in 0..<SRPExchange.maximumDraws {
      let value = SRPGroup.multiply(SRPGroup.multiplier, verifier.verifier, adding: power)
      if SRPExchange.fits(
        shape, value: value, secret: secret, verifier: verifier, clientValue: clientValue)
      {
        self.secret = secret
        serverValue = value
        return
      }
      secret = SRPGroup.multiply(secret, Natural([1]), adding: Natural([1]))
      power = SRPGroup.multiply(power, SRPGroup.generator)
    }
    return nil
  }

  /// Makes an exchange with a known secret, for test vectors.
  init(
    domain: String, name: String, verifier: SRPVerifier, clientValue: Natural, secret: Natural,
    secretBlock: String
  ) {
    self.domain = domain
    self.name = name
    self.verifier = verifier
    self.clientValue = clientValue
    self.secret = secret
    self.secretBlock = secretBlock
    serverValue = SRPGroup.multiply(
      SRPGroup.multiplier, verifier.verifier,
      adding: SRPGroup.power(SRPGroup.generator, secret))
  }

  private static func fits(
    _ shape: Shape, value: Natural, secret: Natural, verifier: SRPVerifier, clientValue: Natural
  ) -> Bool {
    let u = scramble(clientValue, value)
    guard !value.isZero, !u.isZero else { return false }
    switch shape {
    case .any: return true
    case .shortB: return value.bitWidth <= 3064
    case .oddB: return (3065...3068).contains(value.bitWidth)
    case .topBitB: return value.bitWidth == 3072
    case .shortU: return u.bitWidth <= 248
    case .topBitU: return u.bitWidth == 256
    case .shortS, .topBitS:
      let width = key(clientValue, verifier, u, secret).bitWidth
      return shape == .shortS ? width <= 3064 : width == 3072
    }
  }

  /// H(pad(A) | pad(B)).
  private static func scramble(_ clientValue: Natural, _ serverValue: Natural) -> Natural {
    Natural(Cryptography.sha256(clientValue.padded + serverValue.padded))
  }

  /// (A · v^u)^b.
  private static func key(
    _ clientValue: Natural, _ verifier: SRPVerifier, _ u: Natural, _ secret: Natural
  ) -> Natural {
    let base = SRPGroup.multiply(clientValue, SRPGroup.power(verifier.verifier, u))
    return SRPGroup.power(base, secret)
  }

  var scrambler: Natural { SRPExchange.scramble(clientValue, serverValue) }

  var sharedSecret: Natural { SRPExchange.key(clientValue, verifier, scrambler, secret) }

  /// 16 bytes of HKDF-SHA-256 (RFC 5869).
  var signingKey: [UInt8] {
    let extracted = Cryptography.hmacSHA256(
      key: scrambler.padded, message: sharedSecret.padded)
    let info = Array("Caldera Derived Key".utf8)
    return Array(Cryptography.hmacSHA256(key: extracted, message: info + [1]).prefix(16))
  }

  /// The proof that the client must send, in base64.
  func signature(timestamp: String) -> String {
    let block = Data(base64Encoded: secretBlock).map(Array.init) ?? []
    let message = Array((domain + name).utf8) + block + Array(timestamp.utf8)
    return base64(Cryptography.hmacSHA256(key: signingKey, message: message))
  }
}

/// The time in a proof: English, UTC, without a zero before the day.
enum SRPTimestamp {
  /// Seconds that the client's clock may be off.
  static let tolerance = 300.0

  private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// `Sun Nov 5 00:30:09 UTC 2023`.
  static func text(_ date: Date) -> String {
    let text = Array(date.iso8601Text)
    func part(_ range: Range<Int>) -> String { String(text[range]) }
    let weekday = ((date.epochSeconds / 86_400) % 7 + 7) % 7
    let month = months[(Int(part(5..<7)) ?? 1) - 1]
    let day = Int(part(8..<10)) ?? 0
    return "\(days[weekday]) \(month) \(day) \(part(11..<19)) UTC \(part(0..<4))"
  }

  /// Reads exactly what ``text(_:)`` writes.
  static func date(_ text: String) -> Date? {
    let parts = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 6, let month = months.firstIndex(of: parts[1]), let day = Int(parts[2])
    else { return nil }
    func two(_ number: Int) -> String { (number < 10 ? "0" : "") + String(number) }
    let spelt = "\(parts[5])-\(two(month + 1))-\(two(day))T\(parts[3])Z"
    guard let date = Date(iso8601Text: spelt), self.text(date) == text else { return nil }
    return date
  }
}
