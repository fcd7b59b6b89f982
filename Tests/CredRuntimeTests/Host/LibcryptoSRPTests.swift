import CredService
import TestSupport
import Testing

@testable import CredCore
@testable import CredRuntime

/// Proofs with OpenSSL's big numbers.
struct LibcryptoSRPTests {
  private let crypto: Libcrypto
  private let vectors: UserPoolVectors

  init() throws {
    try #require(Library.Name.crypto.load() == nil)
    crypto = Libcrypto()
    vectors = try UserPoolVectors.read()
  }

  private func number(_ digits: String) -> SRPInteger {
    SRPInteger(HexadecimalNumber.bytes(digits))
  }

  private func identity(of exchange: UserPoolVectors.Exchange) throws -> SRPIdentity {
    let password = Secret(exchange.password)
    if let pool = exchange.pool, let user = exchange.userIdForSrp {
      return .user(user, of: try UserPoolID(pool), password: password)
    }
    return .device(
      DeviceSecret(
        key: try #require(exchange.deviceKey), groupKey: try #require(exchange.deviceGroupKey),
        password: password))
  }

  @Test func `every known exchange gives its public value and its signature`() throws {
    expect(vectors.srp.count + vectors.deviceSrp.count, equals: 76)
    for exchange in vectors.srp + vectors.deviceSrp {
      let pair = SRPKeyPair(SRPPrivateValue(known: number(exchange.a)), arithmetic: crypto)
      expect(pair.publicValue.hexadecimal, equals: exchange.A, "\(exchange)")
      let challenge = try SRPChallenge(
        salt: Secret(exchange.salt), serverValue: Secret(exchange.B),
        secretBlock: Secret(exchange.secretBlock))
      let claim = try pair.claim(
        identity(of: exchange), challenge, at: WallTime(milliseconds: exchange.epoch * 1000),
        crypto: crypto)
      expect(claim.signature, equals: Secret(exchange.signature), "\(exchange)")
      expect(claim.timestamp, equals: exchange.timestamp, "\(exchange)")
    }
  }

  @Test func `every known shared secret`() {
    for exchange in vectors.srp + vectors.deviceSrp {
      let terms = SRPTerms(
        privateValue: number(exchange.a).magnitude, serverValue: number(exchange.B).bytes(384),
        scramble: number(exchange.u).bytes(32), passwordHash: number(exchange.x).bytes(32))
      expect(crypto.sharedSecret(terms), equals: number(exchange.S).bytes(384), "\(exchange)")
    }
  }

  @Test func `every known device's verifier`() {
    for device in vectors.deviceVerifier {
      let made = DeviceSecret(
        key: device.deviceKey, groupKey: device.deviceGroupKey,
        password: Secret(device.devicePassword)
      ).verifier(salt: DeviceSalt(known: number(device.salt)), crypto: crypto)
      expect(made.salt, equals: Secret(device.saltBase64))
      expect(made.passwordVerifier, equals: Secret(device.passwordVerifierBase64))
    }
  }

  @Test func `powers of exponents at the edges`() {
    let one = [UInt8](repeating: 0, count: 383) + [1]
    for exponent in [[], [0], [0, 0, 0]] as [[UInt8]] {
      expect(crypto.power(Secret(exponent)), equals: Secret(one))
    }
    expect(crypto.power(Secret([1])), equals: Secret(Array(one.dropLast()) + [2]))
    expect(crypto.power(Secret([0, 0, 7])), equals: Secret(Array(one.dropLast()) + [128]))
    // 2^3071 is below the prime, 2^3072 is 2^3072 - N above it.
    expect(
      crypto.power(Secret([0x0B, 0xFF])), equals: Secret([0x80] + [UInt8](repeating: 0, count: 383))
    )
    for exponent in [[0x0C, 0x00], SRPGroup.prime, [UInt8](repeating: 0xFF, count: 400)] {
      expect(crypto.power(Secret(exponent)), equals: Secret(PoolSide.power(exponent)))
    }
  }

  /// B = k·g^x: whoever sends it needs no password to know the secret, which is zero.
  @Test func `a base of zero is no secret`() {
    let x = [UInt8](repeating: 0, count: 31) + [5]
    // Beside k·g^5.
    func secret(_ more: [UInt8]) -> Secret? {
      crypto.sharedSecret(
        SRPTerms(
          privateValue: Secret([3]), serverValue: Secret(PoolSide.multiplied([32], plus: more)),
          scramble: Secret([UInt8](repeating: 0, count: 31) + [1]), passwordHash: Secret(x)))
    }
    expect(secret([]) == nil)
    // The base is 1, and below the difference, and so -1.
    let one = Secret([UInt8](repeating: 0, count: 383) + [1])
    expect(secret([1]), equals: one)
    expect(secret(SRPGroup.prime.dropLast() + [SRPGroup.prime[383] - 1]), equals: one, "(-1)^8")
  }

  @Test func `a proof is made on a thread`() async throws {
    let exchange = try #require(vectors.srp.first)
    let (identity, crypto) = (try identity(of: exchange), crypto)
    let pair = SRPKeyPair(SRPPrivateValue(known: number(exchange.a)), arithmetic: crypto)
    let challenge = try SRPChallenge(
      salt: Secret(exchange.salt), serverValue: Secret(exchange.B),
      secretBlock: Secret(exchange.secretBlock))
    let thread = try LoopThread()
    defer { thread.stop() }
    let background = try thread.run { loop in
      OnLoop(value: try ThreadBackground(loop: loop, log: Heard().logger))
    }
    let signature: String = try thread.wait { loop, done in
      background.value.runOnce(.proofs, deadline: loop.now + HangLimit.duration) {
        try? pair.claim(
          identity, challenge, at: WallTime(milliseconds: exchange.epoch * 1000), crypto: crypto)
      } completion: { claim in
        done(claim??.signature.exposedText() ?? "none")
      }
      return nil
    }
    expect(signature, equals: exchange.signature)
  }
}

/// Random exchanges with the sandbox.
struct SRPAgreementTests {
  private static let letters: [String] = [
    "a", "Z", "0", ":", " ", "\"", "\\", "é", "e\u{301}", "ß", "ſ", "K", "Ω", "田", "中", "🔑", "👩‍👩‍👧",
    "\u{200D}", "\u{202E}", "\u{FEFF}", "İ", "ı", "﷽", "\u{10FFFF}", "\t",
  ]

  private static func word(_ generator: inout SystemRandomNumberGenerator) -> String {
    (0..<Int.random(in: 1...40, using: &generator)).map { _ in
      letters.randomElement(using: &generator) ?? "a"
    }.joined()
  }

  /// Salts of 16 bytes, of which some begin with zeros.
  private static func salt(_ generator: inout SystemRandomNumberGenerator) -> [UInt8] {
    let zeros = [0, 0, 1, 8, 15].randomElement(using: &generator) ?? 0
    return [UInt8](repeating: 0, count: zeros) + [UInt8].random(16 - zeros, using: &generator)
  }

  @Test func `client and server agree, and only with the same password`() throws {
    try #require(Library.Name.crypto.load() == nil)
    let crypto = Libcrypto()
    var generator = SystemRandomNumberGenerator()
    for round in 0..<TestRounds.of(10) {
      let (name, user, password) = (
        "Pool\(round)", Self.word(&generator), Self.word(&generator)
      )
      let salt = Self.salt(&generator)
      let pair = SRPKeyPair(SRPPrivateValue(using: &generator), arithmetic: crypto)
      let server = PoolSide(
        (name, user), password: password, salt: salt,
        clientValue: pair.publicValue.magnitude.bytes,
        secret: .random(round % 3 == 0 ? 4 : 24, using: &generator))
      let challenge = try SRPChallenge(
        salt: Secret(HexadecimalNumber.digits(salt)), serverValue: Secret(server.serverValue),
        secretBlock: Secret("AAAA"))
      let pool = try UserPoolID("us-east-1_\(name)")
      func key(_ user: String, _ password: String) throws -> [UInt8] {
        try pair.claimKey(
          .user(user, of: pool, password: Secret(password)), challenge, crypto
        ).bytes
      }
      expect(try key(user, password), equals: server.key, "\(user.debugDescription)")
      expect(try key(user, password + " ") != server.key)
      expect(try key(user + "x", password) != server.key)
    }
  }

  /// No SDK normalises: two spellings that look the same are two passwords.
  @Test func `a password is its bytes`() throws {
    try #require(Library.Name.crypto.load() == nil)
    let crypto = Libcrypto()
    let pair = SRPKeyPair(SRPPrivateValue(known: SRPInteger([9])), arithmetic: crypto)
    let challenge = try SRPChallenge(
      salt: Secret("1"), serverValue: Secret("5"), secretBlock: Secret("AAAA"))
    let pool = try UserPoolID("us-east-1_a")
    let keys = try ["\u{E9}", "e\u{301}", " \u{E9}", "\u{E9} "].map {
      try pair.claimKey(.user("u", of: pool, password: Secret($0)), challenge, crypto).bytes
    }
    expect(Set(keys).count, equals: 4)
  }
}
