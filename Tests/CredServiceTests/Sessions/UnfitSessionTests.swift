import TestSupport
import Testing

@testable import CredCore
@testable import CredService
@testable import ServiceTesting

/// Stored sessions in states that no session of their profile can have: another version wrote them, or
/// somebody changed their bytes. Each costs one sign-in and a line in the journal, never the daemon.
struct UnfitSessionTests {
  private static let configurations: [String: String] = [
    "host": Configured.usual(),
    "password": Configured.password(),
    "none": """
    [profile default]
    identity_pool_id = \(FakeUpstreams.pool)
    cognito_endpoint = http://127.0.0.1:4599

    """,
    "token file": """
    [profile default]
    identity_pool_id = \(FakeUpstreams.pool)
    cognito_endpoint = http://127.0.0.1:4599
    web_identity_token_file = /run/token
    web_identity_provider = login.example.app

    """,
    "aws-sample": """
    [backend corp]
    type = aws-sample
    url = http://127.0.0.1
    app_name = app

    """ + Configured.profile("default"),
    "user-pool": Configured.userPool(),
  ]

  private static let methods: [String: SignInMethod] = [
    "host": .host,
    "password": .password(
      BackendSession(token: Secret("session"), developerUserIdentifier: "alice")),
    "no session": .password(BackendSession(token: Secret([]), developerUserIdentifier: nil)),
    "token": .developerToken,
    "logins": .logins,
    "token file": .tokenFile,
    "pool": .provider(providerSession(refresh: "refresh-0")),
    "pool without a token": .provider(providerSession(refresh: "")),
  ]

  private static func providerSession(refresh: String) -> ProviderSession {
    do {
      let issuer = ProviderIssuer(
        pool: try UserPoolID(FakePool.id), clientID: FakePool.client,
        url: "http://127.0.0.1:4600/")
      return ProviderSession(
        issuer: issuer, username: "alice", subject: nil, deviceKey: nil, signedInAt: nil,
        refreshToken: Secret(refresh), idToken: nil, accessToken: nil)
    } catch {
      preconditionFailure("\(error)")
    }
  }

  /// The methods of sign-ins that are whole, for each configuration.
  private static let fitting: [String: Set<String>] = [
    "host": ["host", "token"], "password": ["password", "token"], "none": ["token"],
    "token file": ["token file", "token"], "aws-sample": ["token"],
    "user-pool": ["pool"],
  ]

  @Test func aSessionThatCannotBeCostsOneSignInAndALine() throws {
    for (name, text) in Self.configurations {
      for (kind, method) in Self.methods {
        try check(text, .signedIn(method), isFit: Self.fitting[name]?.contains(kind) ?? false)
        // Nothing is sent for it until a sign-in, but where the profile signs in by itself.
        try check(text, .tokensInvalid(method), isFit: nil)
      }
    }
  }

  /// Whoever mends it must not look for the fault at Cognito.
  @Test func aCallThatItsBackendDoesNotKnowIsNamedAfterTheBackend() throws {
    let fixture = try ServiceFixture(Configured.usual())
    var ids = CallIDs()
    let request = CallRequest(
      id: ids.next(),
      call: .renewProviderTokens(
        Self.providerSession(refresh: "refresh-0"), way: .getTokensFromRefreshToken),
      profile: try #require(fixture.service.configuration.profiles["default"]),
      user: UnixUser(uid: 1000, name: "alice"), isInPerson: true, isRetry: false)
    var outcomes: [UpstreamOutcome] = []
    fixture.upstream.start(request) { outcomes.append($0) }
    fixture.host.settle()
    expect(outcomes, equals: [.failed(.unfitSession(of: .backend("corp")))])
    expect(fixture.host.http.requests.isEmpty)
  }

  private func check(_ text: String, _ state: SignInState, isFit: Bool?) throws {
    let host = FakeHost()
    host.queries.files["/run/token"] = "token"
    let profile = try #require(
      try ServiceFixture.resolved(text).profiles["default"] as Profile?)
    var held = Held(state: state)
    held.identityID = try IdentityID("us-east-1:00000000-1111-2222-3333-000000000001")
    let record = SessionRecord(
      uid: 1000, owner: .named("alice"), profile: profile,
      snapshot: SessionSnapshot(held: held, lastAsked: host.clock.now))
    // As the next daemon reads it.
    host.store.save(
      try SessionRecord(reading: record.encoded[...]),
      for: SessionKey(uid: 1000, profile: "default"))
    let fixture = try ServiceFixture(text, host: host)
    let comment: Comment = "\(state) in\n\(text)"
    let warnings = host.log.entries.filter { $0.message.contains("cannot be used") }
    if let isFit {
      expect(warnings.isEmpty, equals: isFit, comment)
      expect(host.store.records.isEmpty, equals: !isFit, comment)
    }
    for warning in warnings {
      expect(warning["profile"] == "default" && warning["uid"] == "1000", comment)
    }
    for line in ["{}", #"{"op":"token","wait":1}"#, #"{"op":"status"}"#, #"{"refresh":true}"#] {
      expect(try fixture.ask(line)["Version"]?.integer, equals: 1, comment)
    }
    fixture.advance(by: .seconds(7200))
    expect(try fixture.ask(#"{"op":"ping"}"#)["Daemon"] != nil, comment)
  }
}
