import TestSupport
import Testing

@testable import SandboxKit

/// Known answers of the sandbox's cryptography.
struct CryptographyTests {
  private func bytes(_ hexadecimal: String) -> [UInt8] {
    SampleProtocol.bytes(ofHexadecimal: hexadecimal)
  }

  /// FIPS 180-4.
  @Test func knownDigests() {
    expect(
      hexadecimal(Cryptography.sha256(Array("abc".utf8))),
      equals: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    expect(
      hexadecimal(Cryptography.sha256([])),
      equals: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
  }

  /// RFC 4231, cases 2 and 6.
  @Test func knownAuthenticationCodes() {
    expect(
      hexadecimal(
        Cryptography.hmacSHA256(
          key: Array("Jefe".utf8), message: Array("what do ya want for nothing?".utf8))),
      equals: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    expect(
      hexadecimal(
        Cryptography.hmacSHA256(
          key: [UInt8](repeating: 0xAA, count: 131),
          message: Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8))),
      equals: "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
  }

  /// NIST SP 800-38A, F.2.1, the first two blocks; a block of padding follows.
  @Test func knownCiphertext() throws {
    let key = bytes("2b7e151628aed2a6abf7158809cf4f3c")
    let iv = bytes("000102030405060708090a0b0c0d0e0f")
    let plain = bytes("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51")
    let sealed = try Cryptography.encryptAES128CBC(plain, key: key, iv: iv)
    expect(sealed.count, equals: 48)
    expect(
      hexadecimal(sealed.prefix(32)),
      equals: "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2")
    expect(try Cryptography.decryptAES128CBC(sealed, key: key, iv: iv), equals: plain)
    #expect(throws: Cryptography.Refused.self) {
      try Cryptography.decryptAES128CBC(Array(sealed.dropLast()), key: key, iv: iv)
    }
    #expect(throws: Cryptography.Refused.self) {
      try Cryptography.decryptAES128CBC(Array(sealed.prefix(32)), key: key, iv: iv)
    }
    #expect(throws: Cryptography.Refused.self) {
      try Cryptography.encryptAES128CBC(plain, key: Array(key.dropLast()), iv: iv)
    }
  }

  @Test(arguments: [("", "", true), ("a", "a", true), ("a", "b", false), ("a", "aa", false)])
  func comparesTexts(_ one: String, _ other: String, _ expected: Bool) {
    expect(Cryptography.areEqual(one, other), equals: expected)
  }

  /// RFC 7515, A.2; and the same message in RS512, signed by OpenSSL.
  @Test func knownSignatures() throws {
    let key = try RSAKey(pem: Array(Self.pem.utf8))
    let message = Array(Self.message.utf8)
    expect(base64URL(try key.signature(of: message, .sha256)), equals: Self.rs256)
    expect(base64URL(try key.signature(of: message, .sha512)), equals: Self.rs512)
    let signature = try #require(base64URLDecoded(Self.rs512))
    expect(key.isValid(signature, of: message, .sha512))
    expect(!key.isValid(signature, of: message, .sha256))
    expect(!key.isValid(signature, of: message + [0], .sha512))
    expect(!key.isValid(Array(signature.dropLast()), of: message, .sha512))
    expect(!key.isValid([], of: message, .sha512))
  }

  @Test func aKeyOutlivesItsFile() throws {
    let issuer = try TestSandbox.issuer.get()
    let again = try TokenIssuer(pem: issuer.pem)
    let token = try issuer.token(["sub": "a"])
    expect(try again.verifiedClaims(in: token), equals: ["sub": "a"])
  }

  @Test(arguments: ["", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
  func refusesWhatIsNoKey(_ text: String) {
    #expect(throws: Cryptography.Refused.self) { try TokenIssuer(pem: Array(text.utf8)) }
  }

  private static let pem = """
    -----BEGIN PRIVATE KEY-----
    MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCh+BYK4uPJtGXO
    jS1lYmM2K5J9vinh8CR3/BYlzJChNuOL2TSXxbbqY913EeZ8dCn5VrD7io8ImtxL
    aYk8wTM/U+3QGbh3hCUv7JFP5IV3aVlL6kKA0ywPVb9ilE8TA5a8bpvfbr3SvaNn
    juygxmj3AbONv/s4yDQs4v5tJ/reSlpIdJed1LnPmt7Ex1sFhSwsD174pcF1A5L5
    ROjtZMEQxrZHYJqkeDrrnGya11UxMFBji4NmXG9veoKjlnAqH2QbgtPr8jkiGUkf
    toaHLFcW9Qr4NY2ai50Xw0Byj3+H2JoY2PyrZ62EWQwuz3WTOTY8BwNNb2BvniHg
    VFbK5emhAgMBAAECggEAEq5xpGnNCivDflJsRQBXHx1hdR1k6Ulwe2JZD50LpXyW
    PEAeP88vLNO97IjlA7/GQ5sLKMgvfTeXZx9SE+7YwVol2NXOoAJe46sui395IW/G
    O+pWJ1O0BkTGoVEn2bKVRUCgu+GjBVaYLU6f3l9kJfFNS3E0QbVdxzubSu3Mkqzj
    kn439X0M/V51gfpRLI9JYanrC4D4qAdGcopV/0ZHHzQlBjudU2QvXt4ehNYTCBr6
    XCLQUShb1juUO1ZdiYoFaFQT5Tw8bGUl/x/jTj3ccPDVZFD9pIuhLhBOneufuBiB
    4cS98l2SR/RQyGWSeWjnczT0QU91p1DhOVRuOopznQKBgQDgHMQQ60imZV1URk0K
    pLttoLhyt3SmqdEf/kgHePDdtzEafpAu+cS191R2JiuoF2yzWXnwFDcqGigp5BNr
    0AHQfD8/Lk8l1Mk09jxxCfui5nYooNyac8YFjm3vItzVCVDnEd3BbVWG8qf6deqE
    lMGAg+C2V0L4oNXnP7LZcPAZRwKBgQC5A8R+CZW2MvRTLLHzwZkUXV866cff7tx6
    kqa0finGG0KgeqlaZPxgCZnFp7AeAcCMtiynVlJ7vMVgePsLq6XtON4tB5kP9jAP
    rq3rbAOal78eUH5OcED6eNuCV8ixEu1eWcPNCS/l1OW1EnXUEoEHKl54Xrrz2uNw
    kgMTP1FZ1wKBgAcCn1dwJKufzBWQxWQp1vsM5fggqPN1qGb5y0MAk3g7/Ls5bkUp
    5u9SN0Ai3Ya6hNnvWJMb7sXQX6U/zyO2M/hTip7tUeh7CXgwo59dkpN75gJLVds2
    9+DAncu3KXU4f2Fa+7bLNrur53k8KwPOq2bbuTG69QtV7Jr5MR0AHWKNAoGBAIf/
    evpitUf+4JYbLpvNXWcY052Mpz22aR84mY3nh3F2LF2mjMJDpTg7FmuyPcVw6EcG
    yoAe9fa65iNqCq+jdw6PVNGo2hxfjSiZ8IIzHdsPXI89//pMjZcQK9r+CCoRjaZj
    OYiIDktVWZzmevJuv6WywUqd57LE3Zar3dLSIkx1AoGAIYd7DHOhrWvxkwPQsRM2
    tOgrjbcrfvtQJipd+DlcxyVuuM9sQLdgjVk2oy26F0EmpScGLq2MowX7fhd/QJQ3
    ydy5cY7YIBi87w93IKLEdfnbJtoOPLUW0ITrJReOgo1cq9SbsxYawBgfp/gh6A56
    03k2+ZQwVK0JKSHuLFkuQ3U=
    -----END PRIVATE KEY-----
    """

  private static let message =
    "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGx"
    + "lLmNvbS9pc19yb290Ijp0cnVlfQ"

  private static let rs256 =
    "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-"
    + "0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--"
    + "f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--"
    + "xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLI"
    + "hWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"

  private static let rs512 =
    "jVVNFquIjYtsXWDHTCFaq0UoNhuL2qq0KNQ3hx6V-dfxtc2obZ81vcL-"
    + "mpmCxsnW5VzZtAuEM__uUpFTtoP65kGyVR8ebwUMhr_ra0JzpO4fS1SrHTu-f-"
    + "GqPoN9LYXM_7pmT2dYbGw2-AqbLTutv-lBG04TQHbgJ3ISx14bjdACIRh8DGtQwvHQBpV_S-"
    + "KM_yweOiqt5ff5GckMaaGqSuDTlVupVE46NfXiE3tjf3PnnztWuOJ-lNNtQ0ojc-"
    + "jGX7DpreVDWFkh4WpnC_dPVlhTpq8F-mKSsOEBc4B7-J_bnR80VNx2sCEq3GH49TRs2js-J0VIef8hX7H-3aQt4g"
}
