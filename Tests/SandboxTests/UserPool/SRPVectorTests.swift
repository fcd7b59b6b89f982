import Foundation
import SeededRandom
import TestSupport
import Testing

@testable import SandboxKit

/// Tests/Data/UserPools/vectors.json, which several public clients agree with.
struct SRPVectorTests {
  private static let vectors = Result {
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
    let file = folder.appending(path: "../../Data/UserPools/vectors.json").standardizedFileURL
    return try #require(JSON(parsing: Array(try Data(contentsOf: file))))
  }

  private func entries(_ part: String) throws -> [JSON] {
    let entries = try #require(try Self.vectors.get()[part]?.elements)
    try #require(!entries.isEmpty)
    return entries
  }

  private func number(_ entry: JSON, _ name: String) throws -> Natural {
    try #require(Natural(hexadecimal: entry[name]?.text ?? ""))
  }

  @Test func theGroupIsCognitos() throws {
    let vectors = try Self.vectors.get()
    expect(try number(vectors, "N"), equals: SRPGroup.prime)
    expect(try number(vectors, "k"), equals: SRPGroup.multiplier)
  }

  @Test(arguments: ["srp", "deviceSrp"])
  func theServerAgreesWithEveryClient(_ part: String) throws {
    var checked = 0
    for entry in try entries(part) {
      guard entry["b"] != nil else { continue }
      let isDevice = part == "deviceSrp"
      let pool = entry["pool"]?.text ?? ""
      let domain = isDevice ? entry["deviceGroupKey"]?.text ?? "" : UserPoolName(id: pool).name
      let name = entry[isDevice ? "deviceKey" : "userIdForSrp"]?.text ?? ""
      let verifier = SRPVerifier(
        identity: domain + name, password: entry["password"]?.text ?? "",
        salt: try number(entry, "salt"))
      let exchange = SRPExchange(
        domain: domain, name: name, verifier: verifier, clientValue: try number(entry, "A"),
        secret: try number(entry, "b"), secretBlock: entry["secretBlock"]?.text ?? "")
      let label = Comment(rawValue: entry["name"]?.text ?? "")
      expect(exchange.serverValue, equals: try number(entry, "B"), label)
      expect(exchange.scrambler, equals: try number(entry, "u"), label)
      expect(exchange.sharedSecret, equals: try number(entry, "S"), label)
      expect(hexadecimal(exchange.signingKey), equals: entry["hkdfKey"]?.text, label)
      let timestamp = entry["timestamp"]?.text ?? ""
      expect(exchange.signature(timestamp: timestamp), equals: entry["signature"]?.text, label)
      checked += 1
    }
    expect(checked >= (part == "srp" ? 60 : 8))
  }

  @Test func everyTimestampIsReadAndWritten() throws {
    for entry in try entries("srp") {
      let date = Date(timeIntervalSince1970: entry["epoch"]?.number ?? 0)
      expect(SRPTimestamp.text(date), equals: entry["timestamp"]?.text)
      expect(SRPTimestamp.date(entry["timestamp"]?.text ?? ""), equals: date)
    }
  }

  @Test func everyDeviceVerifierIsTheClients() throws {
    for entry in try entries("deviceVerifier") {
      let identity = (entry["deviceGroupKey"]?.text ?? "") + (entry["deviceKey"]?.text ?? "")
      let made = SRPVerifier(
        identity: identity, password: entry["devicePassword"]?.text ?? "",
        salt: try number(entry, "salt"))
      expect(made.verifier, equals: try number(entry, "verifier"))
      expect(base64(made.verifier.padded), equals: entry["passwordVerifierBase64"]?.text)
      expect(base64(made.salt.padded), equals: entry["saltBase64"]?.text)
    }
  }

  @Test func everySecretHashIsTheClients() throws {
    for entry in try entries("secretHash") {
      let hash = AppClient.hash(
        entry["username"]?.text ?? "", client: entry["clientId"]?.text ?? "",
        secret: entry["clientSecret"]?.text ?? "")
      expect(hash, equals: entry["secretHash"]?.text)
    }
  }

  @Test func everyTimeBasedCodeIsTheApps() throws {
    for entry in try entries("totp") {
      let text = entry["secret"]?.text ?? ""
      let secret = try #require(Base32.bytes(text))
      let step = (entry["epoch"]?.integer ?? 0) / TimeBasedCode.period
      expect(TimeBasedCode.code(secret: secret, step: step), equals: entry["code"]?.text)
      expect(text.hasPrefix(Base32.text(secret)) || Base32.text(secret).hasPrefix(text))
    }
  }

  @Test func numbersArePaddedAsTwosComplement() throws {
    for entry in try entries("padding") {
      expect(hexadecimal(try number(entry, "hex").padded), equals: entry["bytes"]?.text)
    }
  }

  @Test func aPublicValueOfZeroIsRefused() throws {
    var refused = 0
    for entry in try entries("mustAbort") {
      let value = try number(entry, "A")
      guard SRPGroup.reduced(value).isZero else { continue }
      var random = SeededGenerator(seed: 1)
      let verifier = SRPVerifier(identity: "a", password: "b", salt: Natural([1]))
      expect(
        SRPExchange(
          domain: "d", name: "n", verifier: verifier, clientValue: value, shape: .any,
          random: &random) == nil)
      refused += 1
    }
    expect(refused, equals: 2)
  }

  @Test(arguments: SRPExchange.Shape.allCases)
  func everyShapeCanBeForced(_ shape: SRPExchange.Shape) throws {
    var random = SeededGenerator(seed: 7)
    let verifier = SRPVerifier(identity: "a", password: "b", salt: Natural([1]))
    let exchange = try #require(
      SRPExchange(
        domain: "d", name: "n", verifier: verifier, clientValue: SRPClient().value, shape: shape,
        random: &random))
    switch shape {
    case .any: break
    case .shortB: expect(exchange.serverValue.bytes.count < 384)
    case .oddB: expect(exchange.serverValue.hexadecimalText.count, equals: 767)
    case .topBitB: expect(exchange.serverValue.padded.count, equals: 385)
    case .shortU: expect(exchange.scrambler.bytes.count < 32)
    case .topBitU: expect(exchange.scrambler.padded.count, equals: 33)
    case .shortS: expect(exchange.sharedSecret.bytes.count < 384)
    case .topBitS: expect(exchange.sharedSecret.padded.count, equals: 385)
    }
    expect(
      exchange.serverValue,
      equals: SRPGroup.multiply(
        SRPGroup.multiplier, verifier.verifier,
        adding: SRPGroup.power(SRPGroup.generator, exchange.secret)))
  }
}
