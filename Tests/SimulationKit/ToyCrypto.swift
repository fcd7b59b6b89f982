package import CredCore
import SeededRandom

/// Cryptography that is quick, of histories and of tests: other bytes have other digests, and nobody breaks
/// it. The service and the user pools compute with the same functions, so a proof of another password, user
/// or challenge does not fit.
package struct ToyCrypto: AssertionSigning, Digests, BlockCipher, SRPArithmetic {
  package init() {}

  package func algorithm(ofKey pem: Secret) -> SigningAlgorithm? { pem.isEmpty ? nil : .rs256 }

  package func signature(
    of message: [UInt8], key pem: Secret, by algorithm: SigningAlgorithm
  ) -> [UInt8]? { Self.mixed(pem.bytes + message, 256) }

  package func sha256(_ bytes: [UInt8]) -> [UInt8] { Self.mixed(bytes, 32) }

  package func hmacSHA256(key: [UInt8], message: [UInt8]) -> [UInt8] {
    Self.mixed(key + [UInt8(key.count & 255)] + message, 32)
  }

  package func power(_ exponent: Secret) -> Secret {
    Secret(Self.mixed(exponent.bytes, SRPGroup.byteCount))
  }

  package func sharedSecret(_ terms: SRPTerms) -> Secret? {
    Self.sharedSecret(verifier: power(terms.passwordHash), terms.serverValue)
  }

  package func decryptAES128CBC(
    _ ciphertext: [UInt8], key: [UInt8], iv: [UInt8]
  ) -> [UInt8]? { ciphertext }

  /// The server's side of it, from the verifier that it keeps in place of a password.
  static func sharedSecret(verifier: Secret, _ serverValue: Secret) -> Secret {
    Secret(mixed(verifier.bytes + serverValue.bytes, SRPGroup.byteCount))
  }

  private static func mixed(_ bytes: [UInt8], _ count: Int) -> [UInt8] {
    var sum: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in bytes { sum = (sum ^ UInt64(byte)) &* 0x100_0000_01B3 }
    var generator = SeededGenerator(seed: sum)
    var output: [UInt8] = []
    output.reserveCapacity(count)
    while output.count < count {
      let word = generator.next()
      for shift in stride(from: UInt64(0), to: 64, by: 8) {
        output.append(UInt8(truncatingIfNeeded: word >> shift))
      }
    }
    return output
  }
}
