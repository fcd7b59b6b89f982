import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// A user pool whose administrator switches between its two issuers, under sessions and sign-ins.
final class PoolIssuerTests {
  private static let key = "cognito-idp.us-east-1.amazonaws.com/\(FakePool.id)"
  private static let original = "https://\(key)"
  private static let updated = "https://issuer-\(key)"

  private static let hosted = Configured.userPool(
    backend: """
      domain = https://login.example.com
      redirect_uri = http://localhost:8976/
      """)

  private static func oidc(_ issuer: String, _ more: String = "") -> String {
    Configured.provider(backend: more).replacing(FakeProvider.issuer, with: issuer)
  }

  /// An identity pool that takes a token only under the key of its issuer. It notes each key.
  private final class StrictPool {
    var isStrict = true
    /// Whether the users are others to it under the other key.
    var knowsOthers = false
    private(set) var keys: [String] = []

    init(_ fixture: ServiceFixture) {
      let answer = fixture.host.http.answer
      fixture.host.http.answer = { [self] request in
        guard case .object(let logins)? = request.json?["Logins"], let login = logins.first,
          request.url.hasPrefix("http://127.0.0.1:4599")
        else { return answer(request) }
        keys.append(login.key)
        let issuer = FakeProvider.claims(of: login.value.text ?? "")?["iss"]?.text
        guard !isStrict || issuer == "https://\(login.key)" else {
          return FakePool.refusal(
            "NotAuthorizedException", "Invalid login token. Issuer doesn't match providerName")
        }
        guard !knowsOthers || login.key == PoolIssuerTests.key else {
          return FakePool.refusal(
            "NotAuthorizedException", "Logins don't match. Please include at least one valid login")
        }
        return answer(request)
      }
    }

    func forget() { keys = [] }
  }

  private func identity(_ fixture: ServiceFixture) throws -> Reply {
    try fixture.ask(#"{"op":"identity"}"#)
  }

  private func renew(_ fixture: ServiceFixture) throws -> Reply {
    fixture.advance(by: .seconds(600))
    return try fixture.ask(#"{"refresh":true,"wait":60}"#)
  }

  // MARK: By browser

  @Test(arguments: [original, updated])
  func aBrowserSignsInWhateverIssuerThePoolHas(_ issuer: String) throws {
    let (fixture, provider) = try ServiceFixture.ofProvider(Self.hosted)
    (provider.audience, provider.tokenIssuer) = (FakePool.client, issuer)
    let strict = StrictPool(fixture)
    let asked = try fixture.ask(
      #"{"op":"login","browser":{"redirect_uri":"http://localhost:8976/"}}"#)
    let iss = "iss=" + issuer.replacing(":", with: "%3A").replacing("/", with: "%2F")
    let response = "\(provider.browse(asked))&\(iss)"
    let reply = try fixture.ask(asked.response("response", "\"\(response)\""))
    expect(reply.state, equals: "signedIn", "\(reply)")
    expect(try fixture.ask().accessKeyID != nil)
    let other = Self.updated.dropFirst("https://".count)
    expect(strict.keys.first, equals: Self.key)
    expect(strict.keys.contains(String(other)), equals: issuer == Self.updated)
  }

  @Test func anotherPoolsAnswerIsRefused() throws {
    for wrong in ["\(Self.updated)/", "\(Self.updated)4", "http\(Self.updated.dropFirst(5))"] {
      let (fixture, provider) = try ServiceFixture.ofProvider(Self.hosted)
      (provider.audience, provider.tokenIssuer) = (FakePool.client, wrong)
      let asked = try fixture.ask(
        #"{"op":"login","browser":{"redirect_uri":"http://localhost:8976/"}}"#)
      let reply = try fixture.ask(asked.response("response", "\"\(provider.browse(asked))\""))
      expect(reply.errorCode, equals: "TokenRejected", "\(wrong): \(reply)")
      expect(try identity(fixture).state, equals: "signedOut")
    }
  }

  // MARK: An oidc backend at a user pool

  @Test(arguments: [original, updated], [original, updated])
  func discoveryMayNameEither(issuer: String, document: String) throws {
    let (fixture, provider) = try ServiceFixture.ofProvider(Self.oidc(issuer))
    provider.documentIssuer = document
    for named in [Self.original, Self.updated, Self.original] {
      provider.tokenIssuer = named
      // The same person is asked for no word, whatever the pool was set to before.
      let reply = try fixture.signInAtProvider(provider)
      expect(reply.state, equals: "signedIn", "\(named): \(reply)")
    }
  }

  /// The host of the updated issuer answers 403 while the pool has the original one.
  @Test func discoveryOutlivesASwitchBack() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider(Self.oidc(Self.updated))
    (provider.documentIssuer, provider.tokenIssuer) = (Self.updated, Self.updated)
    expect(try fixture.signInAtProvider(provider).state, equals: "signedIn")
    (provider.documentIssuer, provider.tokenIssuer) = (Self.original, Self.original)
    let answer = fixture.host.http.answer
    fixture.host.http.answer = {
      $0.url.hasPrefix(Self.updated) ? .reply(403, "") : answer($0)
    }
    fixture.advance(by: .seconds(2 * 86_400))
    expect(try renew(fixture).accessKeyID != nil)
    expect(try identity(fixture).state, equals: "signedIn")
    expect(
      fixture.host.http.requests.contains { $0.url.hasPrefix("\(Self.original)/.well-known/") })
  }

  @Test func discoveryOfAnotherIssuerIsRefused() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider(Self.oidc(Self.original))
    provider.documentIssuer = "\(Self.updated)/"
    expect(try fixture.ask(FakeProvider.login).errorCode, equals: "PoolMisconfigured")
  }

  // MARK: A switch under living sessions

  @Test func renewalsSurviveEachSwitch() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    let strict = StrictPool(fixture)
    strict.isStrict = false
    try fixture.signInAtPool()
    let before = try identity(fixture)["IdentityId"]?.text
    strict.isStrict = true
    for issuer in [Self.updated, Self.updated, Self.original, Self.updated, Self.original] {
      pool.issuer = issuer
      expect(try renew(fixture).accessKeyID != nil, "\(issuer)")
      expect(strict.keys.last, equals: String(issuer.dropFirst("https://".count)))
      expect(try identity(fixture)["IdentityId"]?.text, equals: before)
      expect(try identity(fixture).state, equals: "signedIn")
    }
    expect(pool.misuses, equals: 0)
  }

  @Test func theKeyThatWorkedIsKeptAcrossARestart() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    let strict = StrictPool(fixture)
    pool.issuer = Self.updated
    strict.isStrict = false
    try fixture.signInAtPool()
    strict.isStrict = true
    expect(try renew(fixture).accessKeyID != nil)
    strict.forget()
    expect(try renew(fixture).accessKeyID != nil)
    try fixture.restart(Configured.userPool())
    expect(try renew(fixture).accessKeyID != nil)
    let other = String(Self.updated.dropFirst("https://".count))
    expect(strict.keys, equals: [other, other])
  }

  @Test func providerNameIsTheOnlyKey() throws {
    let other = String(Self.updated.dropFirst("https://".count))
    let text = Configured.userPool(backend: "provider_name = \(other)")
    let (fixture, pool) = try ServiceFixture.ofUserPool(text)
    let strict = StrictPool(fixture)
    strict.isStrict = false
    try fixture.signInAtPool()
    expect(Set(strict.keys), equals: [other])
    (strict.isStrict, pool.issuer) = (true, Self.original)
    strict.forget()
    fixture.advance(by: .seconds(600))
    let reply = try fixture.ask(#"{"refresh":true,"wait":1}"#)
    expect(reply.errorCode, equals: "PoolMisconfigured", "\(reply)")
    expect(reply.errorMessage?.contains("provider_name") == true)
    expect(Set(strict.keys), equals: [other])
    expect(try identity(fixture).state, equals: "signedIn")
  }

  @Test func providerNameMayComeAndGo() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    let strict = StrictPool(fixture)
    strict.isStrict = false
    pool.issuer = Self.updated
    try fixture.signInAtPool()
    let other = String(Self.updated.dropFirst("https://".count))
    for (name, key) in [("provider_name = \(other)", other), ("", Self.key)] {
      try fixture.reload(Configured.userPool(backend: name))
      strict.forget()
      expect(try fixture.ask(#"{"wait":60}"#).accessKeyID != nil)
      expect(Set(strict.keys), equals: [key])
      expect(try identity(fixture).state, equals: "signedIn")
    }
  }

  @Test func anotherIdentityUnderTheOtherKeyIsAnError() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool()
    let strict = StrictPool(fixture)
    strict.isStrict = false
    try fixture.signInAtPool()
    let before = try identity(fixture)["IdentityId"]?.text
    (strict.isStrict, strict.knowsOthers, pool.issuer) = (true, true, Self.updated)
    fixture.advance(by: .seconds(600))
    let reply = try fixture.ask(#"{"refresh":true,"wait":1}"#)
    expect(reply.errorCode, equals: "IdentityConflict", "\(reply)")
    expect(reply.errorMessage?.contains("provider_name") == true)
    expect(try identity(fixture)["IdentityId"]?.text, equals: before)
    expect(try identity(fixture).state, equals: "signedIn")
  }

  /// A client brings no token of the profile's own pool, under neither key.
  @Test func ownTokensAreNotBrought() throws {
    let (fixture, _) = try ServiceFixture.ofUserPool()
    for key in [Self.key, "issuer-\(Self.key)", "Issuer-\(Self.key)"] {
      let reply = try fixture.ask(#"{"op":"login","logins":{"\#(key)":"token"}}"#)
      expect(reply.errorCode, equals: "InvalidRequest", "\(key)")
    }
  }
}
