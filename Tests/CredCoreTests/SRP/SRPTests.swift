import TestSupport
import Testing

@testable import CredCore

/// The composition of a proof: hashes, padding, order, timestamp. Its powers are taken from the known
/// answers here; CredRuntimeTests computes them. The hashes are GnuTLS's.
struct SRPTests {
  static let vectors: UserPoolVectors? = try? .read()

  /// Gives the powers of one exchange, and only for its own terms.
  struct KnownPowers: SRPArithmetic, Digests {
    let exchange: UserPoolVectors.Exchange

    func power(_ exponent: Secret) -> Secret {
      exponent == number(exchange.a).magnitude ? number(exchange.A).bytes(384) : Secret([])
    }

    func sharedSecret(_ terms: SRPTerms) -> Secret? {
      let expected = SRPTerms(
        privateValue: number(exchange.a).magnitude, serverValue: number(exchange.B).bytes(384),
        scramble: number(exchange.u).bytes(32), passwordHash: number(exchange.x).bytes(32))
      return terms == expected ? number(exchange.S).bytes(384) : nil
    }

    func sha256(_ bytes: [UInt8]) -> [UInt8] { TestCrypto().sha256(bytes) }
    func hmacSHA256(key: [UInt8], message: [UInt8]) -> [UInt8] {
      TestCrypto().hmacSHA256(key: key, message: message)
    }
  }

  static func number(_ digits: String) -> SRPInteger {
    SRPInteger(HexadecimalNumber.bytes(digits))
  }

  static func identity(of exchange: UserPoolVectors.Exchange) throws -> SRPIdentity {
    let password = Secret(exchange.password)
    if let pool = exchange.pool, let user = exchange.userIdForSrp {
      return .user(user, of: try UserPoolID(pool), password: password)
    }
    return .device(
      DeviceSecret(
        key: exchange.deviceKey ?? "", groupKey: exchange.deviceGroupKey ?? "", password: password))
  }

  static func challenge(of exchange: UserPoolVectors.Exchange) throws -> SRPChallenge {
    try SRPChallenge(
      salt: Secret(exchange.salt), serverValue: Secret(exchange.B),
      secretBlock: Secret(exchange.secretBlock))
  }

  @Test func theGroupIsTheOneOfUserPools() throws {
    let vectors = try #require(Self.vectors)
    expect(SRPGroup.prime, equals: HexadecimalNumber.bytes(vectors.N))
    expect(SRPGroup.prime.count, equals: SRPGroup.byteCount)
    expect(String(SRPGroup.generator), equals: vectors.g)
    expect(HexadecimalNumber.digits(SRPGroup.multiplier), equals: vectors.k)
    let k = TestCrypto().sha256(
      SRPInteger(SRPGroup.prime).padded + SRPInteger([SRPGroup.generator]).padded)
    expect(SRPGroup.multiplier, equals: k)
  }

  @Test func everyKnownExchangeGivesItsSignature() throws {
    let vectors = try #require(Self.vectors)
    expect(vectors.srp.count, equals: 68)
    expect(vectors.deviceSrp.count, equals: 8)
    for exchange in vectors.srp + vectors.deviceSrp {
      let crypto = KnownPowers(exchange: exchange)
      let pair = SRPKeyPair(
        SRPPrivateValue(known: Self.number(exchange.a)), arithmetic: crypto)
      expect(pair.publicValue.hexadecimal, equals: exchange.A, "\(exchange)")
      let (identity, challenge) = (
        try Self.identity(of: exchange), try Self.challenge(of: exchange)
      )
      let key = try pair.claimKey(identity, challenge, crypto)
      expect(HexadecimalNumber.digits(key.bytes), equals: exchange.hkdfKey, "\(exchange)")
      let now = WallTime(milliseconds: exchange.epoch * 1000 + 999)
      let claim = try pair.claim(identity, challenge, at: now, crypto: crypto)
      expect(claim.timestamp, equals: exchange.timestamp, "\(exchange)")
      expect(claim.signature, equals: Secret(exchange.signature), "\(exchange)")
      expect(claim.secretBlock, equals: Secret(exchange.secretBlock), "\(exchange)")
    }
  }

  /// Zeros in front, upper case and an odd number of digits are the same number.
  @Test func aChallengeIsReadAsNumbersNotAsText() throws {
    let exchange = try #require(
      Self.vectors?.srp.first { $0.salt.count.isMultiple(of: 2) == false })
    let crypto = KnownPowers(exchange: exchange)
    let pair = SRPKeyPair(SRPPrivateValue(known: Self.number(exchange.a)), arithmetic: crypto)
    let padded = try SRPChallenge(
      salt: Secret("000" + exchange.salt.uppercased()),
      serverValue: Secret("0000" + exchange.B.uppercased()),
      secretBlock: Secret(exchange.secretBlock))
    let claim = try pair.claim(
      Self.identity(of: exchange), padded, at: WallTime(milliseconds: exchange.epoch * 1000),
      crypto: crypto)
    expect(claim.signature, equals: Secret(exchange.signature))
  }

  @Test func paddingIsThatOfTwosComplement() throws {
    let padding = try #require(Self.vectors?.padding)
    expect(padding.count, equals: 10)
    for entry in padding {
      let number = Self.number(entry.hex)
      expect(HexadecimalNumber.digits(number.padded), equals: entry.bytes)
      expect(number.hexadecimal, equals: entry.hex)
      expect(SRPInteger([0, 0] + number.padded), equals: number)
    }
  }

  @Test func everyKnownDeviceGetsItsVerifier() throws {
    let devices = try #require(Self.vectors?.deviceVerifier)
    expect(devices.count, equals: 12)
    struct Known: SRPArithmetic, Digests {
      let verifier: String
      func power(_ exponent: Secret) -> Secret { SRPTests.number(verifier).bytes(384) }
      func sharedSecret(_ terms: SRPTerms) -> Secret? { nil }
      func sha256(_ bytes: [UInt8]) -> [UInt8] { TestCrypto().sha256(bytes) }
      func hmacSHA256(key: [UInt8], message: [UInt8]) -> [UInt8] { [] }
    }
    for device in devices {
      let secret = DeviceSecret(
        key: device.deviceKey, groupKey: device.deviceGroupKey,
        password: Secret(device.devicePassword))
      let made = secret.verifier(
        salt: DeviceSalt(known: Self.number(device.salt)), crypto: Known(verifier: device.verifier))
      expect(made.salt, equals: Secret(device.saltBase64))
      expect(made.passwordVerifier, equals: Secret(device.passwordVerifierBase64))
    }
  }
}

/// What must end an exchange before anything is sent that is derived from the password.
struct SRPRefusalTests {
  private static let block = "AAAA"

  private func error(
    salt: String? = "1", B: String? = "2", block: String? = block
  ) -> SRPError? {
    do throws(SRPError) {
      _ = try SRPChallenge(
        salt: salt.map { Secret($0) }, serverValue: B.map { Secret($0) },
        secretBlock: block.map { Secret($0) })
      return nil
    } catch {
      return error
    }
  }

  @Test func aServerValueThatIsZeroModuloThePrime() throws {
    let values = try #require(SRPTests.vectors?.mustAbort)
    for value in values where ["2"].contains(value.A) {
      expect(
        error(B: value.B),
        equals: (value.B.count > 768 ? .tooLong("SRP_B") : .serverValueOutOfRange))
    }
    expect(error(B: "000"), equals: .serverValueOutOfRange)
    let prime = HexadecimalNumber.digits(SRPGroup.prime)
    expect(error(B: prime), equals: .serverValueOutOfRange)
    expect(error(B: "00" + prime), equals: .serverValueOutOfRange)
    expect(error(B: String(repeating: "f", count: 768)), equals: .serverValueOutOfRange)
    expect(error(B: String(prime.dropLast()) + "e") == nil)
  }

  @Test func valuesThatAreMissingMalformedOrTooLong() {
    expect(error() == nil)
    for (name, found) in [
      ("SALT", error(salt: nil)), ("SALT", error(salt: "")), ("SRP_B", error(B: nil)),
      ("SRP_B", error(B: "")), ("SECRET_BLOCK", error(block: nil)),
      ("SECRET_BLOCK", error(block: "")),
    ] { expect(found, equals: .missing(name)) }
    for text in ["0x1", "g", "1 ", "-1", "1\n", "é"] {
      expect(error(salt: text), equals: .notHexadecimal("SALT"))
      expect(error(B: text), equals: .notHexadecimal("SRP_B"))
    }
    expect(error(salt: String(repeating: "1", count: 128)) == nil)
    expect(error(salt: String(repeating: "1", count: 129)), equals: .tooLong("SALT"))
    expect(error(salt: String(repeating: "0", count: 500)) == nil)
    expect(error(B: String(repeating: "1", count: 769)), equals: .tooLong("SRP_B"))
    for text in ["=", "A", "A===", "AAAA\n", "AA_A", "A A"] {
      expect(error(block: text), equals: .notBase64("SECRET_BLOCK"))
    }
    let most = Limits.UserPool.secretBlockBytes
    expect(error(block: String(repeating: "A", count: most)) == nil)
    expect(error(block: String(repeating: "A", count: most + 4)), equals: .tooLong("SECRET_BLOCK"))
  }

  /// A hash function that gives one value, and powers that give another.
  private struct Fixed: SRPCrypto {
    let hash: UInt8
    let secret: [UInt8]?

    func power(_ exponent: Secret) -> Secret { Secret([7]) }
    func sharedSecret(_ terms: SRPTerms) -> Secret? { secret.map { Secret($0) } }
    func sha256(_ bytes: [UInt8]) -> [UInt8] { [UInt8](repeating: hash, count: 32) }
    func hmacSHA256(key: [UInt8], message: [UInt8]) -> [UInt8] { sha256(message) }
  }

  private func error(_ crypto: Fixed) throws -> SRPError? {
    var generator = SystemRandomNumberGenerator()
    let pair = SRPKeyPair(SRPPrivateValue(using: &generator), arithmetic: crypto)
    let challenge = try SRPChallenge(
      salt: Secret("1"), serverValue: Secret("2"), secretBlock: Secret(Self.block))
    let pool = try UserPoolID("us-east-1_a")
    do throws(SRPError) {
      _ = try pair.claim(
        .user("u", of: pool, password: Secret("p")), challenge, at: WallTime(milliseconds: 0),
        crypto: crypto)
      return nil
    } catch {
      return error
    }
  }

  @Test func aScrambleOrASecretOfZero() throws {
    expect(try error(Fixed(hash: 0, secret: [1])), equals: .zeroScramble)
    expect(try error(Fixed(hash: 1, secret: nil)), equals: .zeroSecret)
    expect(try error(Fixed(hash: 1, secret: [0, 0])), equals: .zeroSecret)
    expect(try error(Fixed(hash: 1, secret: [1])) == nil)
  }

  @Test func eachRefusalNamesTheValue() {
    let all: [SRPError] = [
      .missing("SALT"), .notHexadecimal("SALT"), .notBase64("SECRET_BLOCK"), .tooLong("SRP_B"),
      .serverValueOutOfRange, .zeroScramble, .zeroSecret,
    ]
    expect(Set(all.map { $0.asInput.description }).count, equals: all.count)
  }

  /// A generator that begins with zeros only.
  private struct LateGenerator: RandomNumberGenerator {
    var draws = 0
    mutating func next() -> UInt64 {
      draws += 1
      return draws <= 32 ? 0 : .max
    }
  }

  @Test func aPrivateValueOfZeroIsDrawnAgain() {
    var generator = LateGenerator()
    let value = SRPPrivateValue(using: &generator)
    expect(value.bytes, equals: Secret([UInt8](repeating: 0xFF, count: 32)))
  }

  @Test func privateValuesAndDevicePasswordsDiffer() throws {
    var generator = SystemRandomNumberGenerator()
    let values = (0..<50).map { _ in SRPPrivateValue(using: &generator).bytes.bytes }
    expect(Set(values).count, equals: 50)
    let json = #"{"DeviceKey":"us-east-1_aa-bb","DeviceGroupKey":"-g"}"#
    let device = try #require(try NewDevice(JSONValue.parse(Array(json.utf8))))
    let passwords = (0..<50).map { _ in DeviceSecret(device, using: &generator).password.bytes }
    expect(Set(passwords).count, equals: 50)
    expect(passwords.allSatisfy { Base64.decode($0, .standard)?.count == 40 })
  }
}

struct UserPoolTimestampTests {
  /// Foundation's own formatter is no help here: it follows the locale. These are `date -u`'s.
  @Test(
    arguments: [
      (0, "Thu Jan 1 00:00:00 UTC 1970"), (-1, "Wed Dec 31 23:59:59 UTC 1969"),
      (951_782_400, "Tue Feb 29 00:00:00 UTC 2000"), (1_699_144_209, "Sun Nov 5 00:30:09 UTC 2023"),
      (1_709_251_199, "Thu Feb 29 23:59:59 UTC 2024"),
      (4_102_444_800, "Fri Jan 1 00:00:00 UTC 2100"),
      (1_798_718_096, "Thu Dec 31 11:54:56 UTC 2026"),
      (1_704_067_200, "Mon Jan 1 00:00:00 UTC 2024"),
    ] as [(Int64, String)])
  func theDayHasNoPadding(seconds: Int64, text: String) {
    expect(WallTime(milliseconds: seconds * 1000).userPoolTimestamp, equals: text)
    expect(WallTime(milliseconds: seconds * 1000 + 999).userPoolTimestamp, equals: text)
  }
}

struct Base64EncodingTests {
  /// RFC 4648 §10.
  @Test(arguments: [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
    ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
  ])
  func knownAnswers(text: String, encoded: String) {
    expect(Base64.encode(Array(text.utf8)), equals: Array(encoded.utf8))
  }

  @Test func everyByteComesBack() {
    let bytes = Array(UInt8.min ... .max)
    for count in [254, 255, 256] {
      let encoded = Base64.encode(Array(bytes.prefix(count)))
      expect(Base64.decode(encoded, .standard), equals: Array(bytes.prefix(count)))
      expect(encoded.count.isMultiple(of: 4))
    }
  }
}
