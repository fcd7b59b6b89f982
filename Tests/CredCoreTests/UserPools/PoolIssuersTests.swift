import TestSupport
import Testing

@testable import CredCore

/// The two issuers of a user pool are one party, and nobody else is.
struct PoolIssuersTests {
  private static let original = "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbCdEf123"
  private static let updated =
    "https://issuer-cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbCdEf123"

  /// Another pool, region, host, scheme, port or slash.
  private static let others = [
    "https://issuer-cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbCdEf124",
    "https://issuer-cognito-idp.eu-west-1.amazonaws.com/eu-west-1_abCdEf123",
    "https://issuer-cognito-idp.eu-central-1.amazonaws.com/eu-west-1_AbCdEf123",
    "https://issuer-cognito-idp.eu-west-1.amazonaws.com.cn/eu-west-1_AbCdEf123",
    "https://issuer-cognito-idp.eu-west-1.example.com/eu-west-1_AbCdEf123",
    "https://issuer-issuer-cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbCdEf123",
    "https://issuer.cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbCdEf123",
    "https://Issuer-cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbCdEf123",
    "https://evil.example/issuer-cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbCdEf123",
    "https://issuer-cognito-idp.eu-west-1.amazonaws.com:443/eu-west-1_AbCdEf123",
    "http://issuer-cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbCdEf123",
    "issuer-cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbCdEf123",
    "https://issuer-cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbCdEf123/",
    "https://issuer-cognito-idp.eu-west-1.amazonaws.com//eu-west-1_AbCdEf123",
    "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbCdEf123/", "eu-west-1_AbCdEf123", "",
  ]

  @Test func bothFormsAreOneParty() {
    for (one, other) in [
      (Self.original, Self.updated), (Self.updated, Self.original),
      (Self.original, Self.original), (Self.updated, Self.updated),
    ] {
      expect(PoolIssuers.areSame(one, other), "\(one) and \(other)")
    }
  }

  @Test func everythingElseIsAnotherParty() {
    for other in Self.others {
      for own in [Self.original, Self.updated] {
        expect(!PoolIssuers.areSame(own, other), "\(own) and \(other)")
        expect(!PoolIssuers.areSame(other, own), "\(other) and \(own)")
      }
      expect(PoolIssuers.areSame(other, other))
      expect(PoolIssuers(other)?.form(of: Self.updated) == nil)
    }
  }

  @Test(arguments: [
    ("us-gov-west-1_Ab1", "amazonaws.com"), ("cn-north-1_Ab1", "amazonaws.com.cn"),
    ("eusc-de-east-1_Ab1", "amazonaws.eu"),
  ])
  func eachPartitionHasItsSuffix(pool: String, suffix: String) throws {
    let issuers = PoolIssuers(try UserPoolID(pool))
    let place = "\(try UserPoolID(pool).region).\(suffix)/\(pool)"
    expect(issuers.loginsKey(.original), equals: "cognito-idp.\(place)")
    expect(issuers.loginsKey(.updated), equals: "issuer-cognito-idp.\(place)")
    expect(issuers.form(of: "https://cognito-idp.\(place)"), equals: .original)
    expect(issuers.form(of: "https://issuer-cognito-idp.\(place)"), equals: .updated)
  }

  // MARK: Wherever `iss` is compared

  private func provider(
    _ issuer: String, names document: String, sendsIssuer: Bool = false
  ) throws -> ProviderMetadata {
    let members = [
      ("issuer", "\"\(document)\"" as String?),
      ("authorization_response_iss_parameter_supported", sendsIssuer ? "true" : nil),
    ]
    return try ProviderMetadata(
      from: Samples.reply(200, OIDCSamples.document(members)), of: OIDCIssuer(issuer),
      configured: ProviderEndpoints(), for: "staff")
  }

  private func token(_ issuer: String, from provider: ProviderMetadata) throws -> IDToken {
    try IDToken(
      OIDCSamples.token([("iss", "\"\(issuer)\"")]),
      IDToken.Expectation(
        issuer: provider.issuer, clientID: "client-1", nonce: .notSent, now: OIDCSamples.now))
  }

  @Test func idTokensAndDiscoveryMayNameEither() throws {
    for configured in [Self.original, Self.updated] {
      for document in [Self.original, Self.updated] {
        let found = try provider(configured, names: document)
        // What was configured stays: a session belongs to it.
        expect(found.issuer.description, equals: configured)
        expect(try token(Self.original, from: found).subject, equals: "user-1")
        expect(try token(Self.updated, from: found).subject, equals: "user-1")
      }
      for other in Self.others {
        #expect(throws: UpstreamFailure.self) { try provider(configured, names: other) }
        let found = try provider(configured, names: configured)
        #expect(throws: IDTokenProblem.self) { try token(other, from: found) }
      }
    }
  }

  @Test func theRedirectMayNameEither() throws {
    let state = Secret("state-1234567890")
    let judge = { (issuer: String, provider: ProviderMetadata) in
      AuthorizationResponse.judge(
        Secret("state=state-1234567890&code=c-1&iss=\(PercentEncoding.encode(issuer))"),
        state: state, from: provider, for: "staff")
    }
    for configured in [Self.original, Self.updated] {
      let found = try provider(configured, names: Self.original, sendsIssuer: true)
      expect(judge(Self.original, found), equals: .code(Secret("c-1")))
      expect(judge(Self.updated, found), equals: .code(Secret("c-1")))
      for other in Self.others {
        guard case .failed = judge(other, found) else {
          Issue.record("\(other) is taken for \(configured)")
          continue
        }
      }
    }
  }

  @Test func onlyTheUpdatedIssuerHasAnotherPlaceForDiscovery() throws {
    expect(try OIDCIssuer(Self.updated).originalOfPool?.description, equals: Self.original)
    expect(try OIDCIssuer(Self.original).originalOfPool == nil)
    expect(try OIDCIssuer(Self.updated + "/").originalOfPool == nil)
    expect(try OIDCIssuer(OIDCSamples.issuerText).originalOfPool == nil)
  }

  // MARK: The key in the logins map

  @Test func aProviderThatIsAPoolHasTheDocumentedKey() throws {
    let key = String(Self.original.dropFirst("https://".count))
    for text in [Self.original, Self.updated] {
      let issuer = try OIDCIssuer(text)
      let pool = ProviderIssuer(
        provider: issuer, loginsKey: issuer.loginsKey, clientID: "client-1", url: "")
      expect(pool.loginsKey, equals: key)
    }
    let own = ProviderIssuer(
      provider: try OIDCIssuer(Self.updated), loginsKey: "own.example.com", clientID: "client-1",
      url: "")
    expect(own.loginsKey, equals: "own.example.com")
  }
}
