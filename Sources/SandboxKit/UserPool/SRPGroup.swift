import CSandboxCrypto
import SeededRandom

/// A number of any size that is not negative: big-endian, without leading zeros.
struct Natural: Hashable, Sendable {
  let bytes: [UInt8]

  static let zero = Natural([])

  init(_ bytes: some Collection<UInt8>) {
    self.bytes = Array(bytes.drop { $0 == 0 })
  }

  /// Reads any number of hexadecimal digits in upper or lower case; nil for anything else.
  init?(hexadecimal text: some StringProtocol) {
    guard !text.isEmpty, text.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else {
      return nil
    }
    let digits = Array((text.utf8.count % 2 == 0 ? "" : "0") + text)
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let high = digits[index].hexDigitValue, let low = digits[index + 1].hexDigitValue else {
        return nil
      }
      bytes.append(UInt8(high << 4 | low))
    }
    self.init(bytes)
  }

  /// Lower-case digits without leading zeros, as Cognito writes numbers.
  var hexadecimalText: String {
    let text = hexadecimal(bytes)
    guard !text.isEmpty else { return "0" }
    return text.hasPrefix("0") ? String(text.dropFirst()) : text
  }

  /// The shortest two's complement, with a zero byte in front only if the top bit is set.
  var padded: [UInt8] {
    guard let first = bytes.first else { return [0] }
    return first >= 0x80 ? [0] + bytes : bytes
  }

  var isZero: Bool { bytes.isEmpty }

  /// The number of bits.
  var bitWidth: Int {
    guard let first = bytes.first else { return 0 }
    return bytes.count * 8 - first.leadingZeroBitCount
  }
}

/// The group of Cognito's SRP: the prime of RFC 3526's group 15, with the generator 2.
enum SRPGroup {
  /// 3072 bits.
  static let prime = Natural(primeDigits.flatMap { $0 })
  static let generator = Natural([2])
  /// H(pad(N) | pad(g)).
  static let multiplier = Natural(Cryptography.sha256(prime.padded + generator.padded))

  static func power(_ base: Natural, _ exponent: Natural) -> Natural {
    var result = [UInt8](repeating: 0, count: prime.bytes.count)
    unsafe csandbox_power(
      base.bytes, base.bytes.count, exponent.bytes, exponent.bytes.count, prime.bytes,
      prime.bytes.count, &result)
    return Natural(result)
  }

  /// one · other + summand.
  static func multiply(_ one: Natural, _ other: Natural, adding summand: Natural = .zero) -> Natural
  {
    var result = [UInt8](repeating: 0, count: prime.bytes.count)
    unsafe csandbox_multiply_add(
      one.bytes, one.bytes.count, other.bytes, other.bytes.count, summand.bytes,
      summand.bytes.count, prime.bytes, prime.bytes.count, &result)
    return Natural(result)
  }

  /// The number mod N.
  static func reduced(_ number: Natural) -> Natural { multiply(number, Natural([1])) }

  private static let primeDigits: [[UInt8]] = [
    "ffffffffffffffffc90fdaa22168c234c4c6628b80dc1cd129024e088a67cc74020bbea63b139b22514a08798e3404dd",
    "ef9519b3cd3a431b302b0a6df25f14374fe1356d6d51c245e485b576625e7ec6f44c42e9a637ed6b0bff5cb6f406b7ed",
    "ee386bfb5a899fa5ae9f24117c4b1fe649286651ece45b3dc2007cb8a163bf0598da48361c55d39a69163fa8fd24cf5f",
    "83655d23dca3ad961c62f356208552bb9ed529077096966d670c354e4abc9804f1746c08ca18217c32905e462e36ce3b",
    "e39e772c180e86039b2783a2ec07a28fb5c55df06f4c52c9de2bcbf6955817183995497cea956ae515d2261898fa0510",
    "15728e5a8aaac42dad33170d04507a33a85521abdf1cba64ecfb850458dbef0a8aea71575d060c7db3970f85a6e1e4c7",
    "abf5ae8cdb0933d71e8c94e04a25619dcee3d2261ad2ee6bf12ffa06d98a0864d87602733ec86a64521f2b18177b200c",
    "bbe117577a615d6c770988c0bad946e208e24fa074e5ab3143db5bfce0fd108e4b82d120a93ad2caffffffffffffffff",
  ].map { Natural(hexadecimal: $0)?.bytes ?? [] }
}

extension SeededGenerator {
  /// `count` random bytes.
  mutating func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: next() >> 32) }
  }
}
