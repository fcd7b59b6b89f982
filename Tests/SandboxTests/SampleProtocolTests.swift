import FoundationEssentials
import TestSupport
import Testing

@testable import SandboxKit

/// Known answers of the sample protocol, and the server that speaks it.
struct SampleProtocolTests {
  static let salted = "bec8a2c77c36323b295a4933e50956fc7b365cf8a818fac3de751db4df8a6a13"
  static let timestamp = "2015-09-22T18:08:03Z"
  static let key = "00112233445566778899aabbccddeeff"

  @Test func knownSaltedPassword() {
    expect(
      SampleProtocol.salted("secret123", user: "bob", host: "localhost"), equals: Self.salted)
  }

  @Test func knownLoginSignature() {
    expect(
      SampleProtocol.signature(of: Self.timestamp, key: Self.salted),
      equals: "17779e60bbd829651955623dfc6757be161a7d2f2b6451e6c87b85b514614fa5")
  }

  @Test func knownLoginReply() throws {
    expect(
      try SampleProtocol.encrypted(
        SampleProtocol.keyReply(Self.key), key: Self.salted, vector: Array(0..<16)),
      equals:
        "AAECAwQFBgcICQoLDA0OD8hP04R5g+wd/5mZs07pVxFXGtXded65wy5qB88a/z0wFDN2n7fPwB7X5/3q/6c27w=="
    )
  }

  @Test func knownTokenSignature() {
    let message =
      Self.timestamp + "login.x" + "bob" + "us-east-1:11111111-2222-3333-4444-555555555555"
    expect(
      SampleProtocol.signature(of: message, key: Self.key),
      equals: "23101cbd7149128866fec5379d6e90e0d54e21ef7ee0d5828f1d9b455eaf6339")
  }
}
