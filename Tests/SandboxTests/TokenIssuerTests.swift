import TestSupport
import Testing

@testable import SandboxKit

struct TokenIssuerTests {
  @Test(arguments: [TokenIssuer.Algorithm.rs256, .rs512])
  func verifiesItsOwn(_ algorithm: TokenIssuer.Algorithm) throws {
    let issuer = try TestSandbox.issuer.get()
    let claims: JSON = ["sub": "a", "exp": 12]
    let token = try issuer.token(claims, algorithm: algorithm)
    expect(try issuer.verifiedClaims(in: token, algorithm: algorithm), equals: claims)
    expect(try TokenIssuer.claims(in: token), equals: claims)
  }

  @Test func refusesAnotherAlgorithm() throws {
    let issuer = try TestSandbox.issuer.get()
    let token = try issuer.token(["sub": "a"], algorithm: .rs256)
    #expect(throws: TokenIssuer.Fault.unverified) { try issuer.verifiedClaims(in: token) }
  }

  @Test func refusesChangedClaims() throws {
    let issuer = try TestSandbox.issuer.get()
    let parts = try issuer.token(["sub": "a"]).split(separator: ".")
    let other = try issuer.token(["sub": "b"]).split(separator: ".")
    let forged = [parts[0], other[1], parts[2]].joined(separator: ".")
    #expect(throws: TokenIssuer.Fault.unverified) { try issuer.verifiedClaims(in: forged) }
  }

  @Test(arguments: ["", "a.b", "a.b.c", "a.b.c.d", "e30.e30", "e30.W10.e30", "e30=.e30=.e30="])
  func refusesWhatIsNoToken(_ text: String) throws {
    let issuer = try TestSandbox.issuer.get()
    #expect(throws: TokenIssuer.Fault.malformed) { try issuer.verifiedClaims(in: text) }
  }
}
