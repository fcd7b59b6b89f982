import CredCore
import Foundation
import TestSupport
import Testing

@testable import CredRuntime

/// Signatures of client assertions. `openssl` verifies them, which shares no code with the shim.
struct LibcryptoSigningTests {
  private let crypto: Libcrypto
  private let folder: TemporaryFolder

  init() throws {
    try #require(Library.Name.crypto.load() == nil)
    crypto = Libcrypto()
    folder = try TemporaryFolder()
  }

  /// Runs a script in the folder; true if it succeeds.
  private func run(_ script: String) throws -> Bool {
    let shell = Process()
    shell.executableURL = URL(fileURLWithPath: "/bin/sh")
    shell.arguments = ["-c", "cd \"$0\"; \(script)", folder.path]
    shell.standardOutput = FileHandle.nullDevice
    shell.standardError = FileHandle.nullDevice
    try shell.run()
    shell.waitUntilExit()
    return shell.terminationStatus == 0
  }

  private func file(_ name: String) throws -> Secret {
    Secret(Array(try Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/\(name)"))))
  }

  private func write(_ bytes: [UInt8], _ name: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: "\(folder.path)/\(name)"))
  }

  private static let message = Array("header.claims".utf8)

  @Test func anRSAKeySignsByRS256() throws {
    try #require(try run("openssl genrsa -out k 2048 && openssl rsa -in k -pubout -out p"))
    let key = try file("k")
    expect(crypto.algorithm(ofKey: key), equals: .rs256)
    let signature = try #require(crypto.signature(of: Self.message, key: key, by: .rs256))
    expect(signature.count, equals: 256)
    try write(signature, "s")
    try write(Self.message, "m")
    expect(try run("openssl dgst -sha256 -verify p -signature s m"))
    try write(Self.message + [0], "m")
    expect(try !run("openssl dgst -sha256 -verify p -signature s m"))
  }

  @Test func anECKeySignsByES256AsTwoNumbers() throws {
    try #require(
      try run(
        "openssl ecparam -name prime256v1 -genkey -noout -out k && openssl ec -in k -pubout -out p")
    )
    let key = try file("k")
    expect(crypto.algorithm(ofKey: key), equals: .es256)
    try write(Self.message, "m")
    // Numbers with zero bytes in front come up once in 128 signatures.
    for _ in 0..<300 {
      let signature = try #require(crypto.signature(of: Self.message, key: key, by: .es256))
      expect(signature.count, equals: 64)
    }
    let signature = try #require(crypto.signature(of: Self.message, key: key, by: .es256))
    try write(Self.der(signature), "s")
    expect(try run("openssl dgst -sha256 -verify p -signature s m"))
  }

  /// ECDSA-Sig-Value of RFC 3279.
  private static func der(_ signature: [UInt8]) -> [UInt8] {
    let numbers = [signature.prefix(32), signature.suffix(32)].flatMap { number -> [UInt8] in
      var bytes = Array(number.drop { $0 == 0 })
      if bytes.first.map({ $0 >= 0x80 }) ?? true { bytes.insert(0, at: 0) }
      return [2, UInt8(bytes.count)] + bytes
    }
    return [0x30, UInt8(numbers.count)] + numbers
  }

  @Test func otherKeysAreRefused() throws {
    let script = """
      openssl genrsa -out short 1024
      openssl ecparam -name secp384r1 -genkey -noout -out large
      openssl genpkey -algorithm ed25519 -out ed
      openssl genrsa -aes128 -passout pass:word -out locked 2048
      openssl genrsa -out whole 2048 && head -c 600 whole > cut
      openssl rsa -in whole -pubout -out public
      """
    try #require(try run(script))
    for name in ["short", "large", "ed", "locked", "cut", "public"] {
      let key = try file(name)
      expect(crypto.algorithm(ofKey: key) == nil, "\(name)")
      expect(crypto.signature(of: Self.message, key: key, by: .rs256) == nil, "\(name)")
    }
    expect(crypto.algorithm(ofKey: Secret("")) == nil)
  }
}
