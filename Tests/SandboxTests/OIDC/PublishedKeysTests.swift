import FoundationEssentials
import TestSupport
import Testing

@testable import SandboxKit

/// ID tokens of a provider outside the sandbox, by the keys that it publishes.
struct PublishedKeysTests {
  private static let provider = "idp.example"
  /// Making a key takes tenths of a second: one for all tests.
  private static let outside = Result { try TokenIssuer() }

  private let outside: TokenIssuer
  private var test: TestSandbox

  init() throws {
    outside = try Self.outside.get()
    test = try TestSandbox()
    let pool = test.send(
      "POST", "/control/pool",
      ["CognitoIdentityProviders": [["ProviderName": "idp.example", "ClientId": "client"]]])
    expect(pool.status, equals: 200, "\(pool.text)")
  }

  private mutating func publish(_ keys: [JSON]) -> HTTPReply {
    test.send(
      "POST", "/control/provider-keys",
      ["ProviderName": .string(Self.provider), "keys": .array(keys)])
  }

  private func token(
    _ issuer: TokenIssuer, _ algorithm: TokenIssuer.Algorithm = .rs256
  ) throws -> String {
    try issuer.token(
      [
        "iss": .string("https://" + Self.provider), "aud": "client", "sub": "s",
        "exp": .number(Double(test.now.epochSeconds + 600)),
      ], algorithm: algorithm)
  }

  private mutating func signIn(_ token: String) -> HTTPReply {
    test.cognito(
      "GetId",
      [
        "IdentityPoolId": .string(TestSandbox.pool),
        "Logins": [Self.provider: .string(token)],
      ])
  }

  @Test mutating func aTokenIsVerifiedByThePublishedKey() throws {
    let key = try outside.publicKey(for: .rs256)
    // Keys of other kinds stand beside it.
    expect(publish([["kty": "EC", "crv": "P-256"], key]).json?["Keys"]?.integer, equals: 1)
    expect(signIn(try token(outside)).json?["IdentityId"] != nil)
  }

  @Test mutating func anotherKeyOrAlgorithmIsRefused() throws {
    let refused = "NotAuthorizedException: Invalid login token. Couldn't verify signed token."
    expect(publish([try outside.publicKey(for: .rs256)]).status, equals: 200)
    expect(signIn(try token(try TestSandbox.issuer.get())).cognitoError, equals: refused)
    expect(signIn(try token(outside, .rs512)).cognitoError, equals: refused)
    expect(publish([]).status, equals: 200)
    expect(signIn(try token(outside)).cognitoError, equals: refused)
  }

  @Test mutating func aKeyThatIsNoneIsRefused() {
    expect(publish([["kty": "RSA", "n": "+", "e": "AQAB"]]).status, equals: 400)
  }
}
