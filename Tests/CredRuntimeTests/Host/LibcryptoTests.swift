import Foundation
import TestSupport
import Testing

@testable import CredRuntime

/// Known answers of the algorithms that credd leaves to OpenSSL.
struct LibcryptoTests {
  private let crypto: Libcrypto

  init() throws {
    try #require(Library.Name.crypto.load() == nil)
    crypto = Libcrypto()
  }

  /// FIPS 180-2, appendix B.
  @Test(
    arguments: [
      ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      (
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
      ),
    ])
  func sha256(_ text: String, _ digest: String) {
    expect(HexadecimalNumber.digits(crypto.sha256(Array(text.utf8))), equals: digest)
  }

  /// RFC 4231 §4.3 and §4.7; the empty key and message are Python's hmac.
  @Test(
    arguments: [
      (
        Array("Jefe".utf8), "what do ya want for nothing?",
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
      ),
      (
        [UInt8](repeating: 0xaa, count: 131),
        "Test Using Larger Than Block-Size Key - Hash Key First",
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
      ),
      ([], "", "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"),
    ])
  func hmac(_ key: [UInt8], _ message: String, _ code: String) {
    expect(
      HexadecimalNumber.digits(crypto.hmacSHA256(key: key, message: Array(message.utf8))),
      equals: code)
  }

  private static let key: [UInt8] = Array(0..<16)
  private static let iv: [UInt8] = Array(16..<32)
  /// `openssl enc -aes-128-cbc`.
  private static let ciphertext =
    "d5a8d454ff08e38e15594ee541f46a2e68bba0947bec7ac1b52e3a330836ad89be8cef8a4aec777fe51c704334adbeeb"

  private func decrypt(_ ciphertext: [UInt8], key: [UInt8] = key, iv: [UInt8] = iv) -> [UInt8]? {
    crypto.decryptAES128CBC(ciphertext, key: key, iv: iv)
  }

  @Test func aes() {
    expect(
      decrypt(HexadecimalNumber.bytes(Self.ciphertext)),
      equals: Array("a secret of credd, longer than one block".utf8))
  }

  @Test func `AES wants whole blocks, the padding, a key and an IV`() {
    let good = HexadecimalNumber.bytes(Self.ciphertext)
    expect(decrypt([]) == nil)
    expect(decrypt(good.dropLast()) == nil)
    expect(decrypt(good.dropLast(16)) == nil)
    expect(decrypt(good, key: Self.key.dropLast()) == nil)
    expect(decrypt(good, key: Self.key + [0]) == nil)
    expect(decrypt(good, iv: []) == nil)
  }

  @Test func `a file has the digest of its first bytes, and none where it is shorter`() throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "credd-\(UUID())")
    defer { try? FileManager.default.removeItem(at: file) }
    let content = [UInt8](repeating: 7, count: 300_000)
    try Data(content).write(to: file)
    let handle = try FileHandle(forReadingFrom: file)
    expect(
      crypto.sha256(ofFile: handle.fileDescriptor, size: 300_000), equals: crypto.sha256(content))
    expect(
      crypto.sha256(ofFile: handle.fileDescriptor, size: 3),
      equals: crypto.sha256(Array(content.prefix(3))))
    expect(crypto.sha256(ofFile: handle.fileDescriptor, size: 300_001) == nil)
  }
}
