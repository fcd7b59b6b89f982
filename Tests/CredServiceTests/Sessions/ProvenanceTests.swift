import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// What a client only claims, and what another backend gave, reaches no backend.
struct ProvenanceTests {
  private static let victim = "us-east-1:99999999-2222-3333-4444-555555555555"
  private static let claim =
    #"{"op":"login","identity_id":"\#(victim)","token":"a-token-of-somebody"}"#
  private static let logIn = #"{"op":"login","username":"alice","password":"alice-password"}"#

  private func texts(_ fixture: ServiceFixture, _ operation: String) -> [String] {
    fixture.host.http.requests.filter { $0.operation == operation }.map { request in
      request.url + (request.body.exposedText() ?? "") + (request.header("Authorization") ?? "")
    }
  }

  // MARK: Claims

  /// `{"aud":"us-east-1:99999999-2222-3333-4444-555555555555"}`
  @Test func `a token for another identity pool is refused`() throws {
    let fixture = try ServiceFixture()
    let claims = "eyJhdWQiOiJ1cy1lYXN0LTE6OTk5OTk5OTktMjIyMi0zMzMzLTQ0NDQtNTU1NTU1NTU1NTU1In0"
    let reply = try fixture.ask(
      #"{"op":"login","identity_id":"\#(Self.victim)","token":"e30.\#(claims).c2ln"}"#)
    expect(reply.errorCode, equals: "TokenRejected")
    expect(fixture.host.http.requests.isEmpty)
  }

  @Test func `an identity claimed while Cognito is away is refused and goes nowhere`() throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.faults["GetCredentialsForIdentity"] = .failure(.connect)
    let refused = try fixture.ask(Self.claim)
    expect(refused.errorCode, equals: "CognitoUnavailable", "\(refused)")
    expect(try fixture.ask(#"{"op":"identity"}"#)["IdentityId"] == nil)
    fixture.host.upstreams.faults["GetCredentialsForIdentity"] = nil
    fixture.advance(by: .seconds(60))
    let credentials = try fixture.ask(#"{"wait":60}"#)
    expect(credentials.accessKeyID != nil, "\(credentials)")
    expect(try fixture.ask(#"{"op":"identity"}"#)["IdentityId"]?.text != Self.victim)
    expect(texts(fixture, "token").count >= 1)
    expect(texts(fixture, "token").allSatisfy { !$0.contains("IdentityId\":") })
    expect(
      fixture.host.store.identities.values.allSatisfy { $0.identityID.description != Self.victim })
  }

  @Test func `a claimed identity is not the session's while Cognito is asked`() throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.delays["GetCredentialsForIdentity"] = .seconds(1)
    let (claiming, other) = (fixture.connect(), fixture.connect())
    claiming.send(Self.claim)
    expect(claiming.isWaiting)
    expect(try other.ask(#"{"op":"identity"}"#)["IdentityId"] == nil)
    expect(try !other.ask(#"{"op":"status"}"#).text.contains(Self.victim))
    fixture.advance(by: .seconds(2))
    expect(try claiming.next().state, equals: "signedIn")
    expect(try other.ask(#"{"op":"identity"}"#)["IdentityId"]?.text, equals: Self.victim)
  }

  @Test func `an identity that Cognito accepted for a client's token reaches no backend`() throws {
    let fixture = try ServiceFixture(
      Configured.usual(backend: "logout_url = http://127.0.0.1/logout"))
    expect(try fixture.ask(Self.claim).state, equals: "signedIn")
    expect(fixture.host.store.identities.isEmpty)
    // The token is refused later: the backend gives the next one.
    fixture.host.upstreams.faults["GetCredentialsForIdentity"] = .status(
      400, #"{"__type":"NotAuthorizedException","message":"Invalid login token. Token expired"}"#,
      count: 1)
    fixture.host.upstreams.faults["token"] = .status(401, count: 1)
    _ = try fixture.ask(#"{"refresh":true}"#)
    fixture.advance(by: .seconds(600))
    _ = try fixture.ask(#"{"refresh":true,"wait":60}"#)
    expect(try fixture.ask(#"{"op":"login"}"#).state, equals: "signedIn")
    expect(texts(fixture, "token").count >= 2)
    expect(texts(fixture, "token").allSatisfy { !$0.contains(Self.victim) })
  }

  @Test func `a global sign-out names no identity of a client's token`() throws {
    let fixture = try ServiceFixture(
      Configured.usual(backend: "logout_url = http://127.0.0.1/logout"))
    expect(try fixture.ask(Self.claim).state, equals: "signedIn")
    expect(try fixture.ask(#"{"op":"logout","global":true}"#).errorCode == nil)
    expect(texts(fixture, "logout").count, equals: 1)
    expect(texts(fixture, "logout").allSatisfy { !$0.contains(Self.victim) })
  }

  /// The backend would link it to its own user, who may be the same for all users of the host.
  @Test func `the identity of logins that stand alone reaches no backend after a boot`() throws {
    let text = Configured.usual(backend: "logout_url = http://127.0.0.1/logout")
    let fixture = try ServiceFixture(text)
    let login =
      #"{"op":"login","logins":{"accounts.google.com":"e30.e30.c2ln"},"alone":true}"#
    let signedIn = try fixture.ask(login)
    expect(signedIn.state, equals: "signedIn")
    let identity = try #require(signedIn["IdentityId"]?.text)
    expect(fixture.host.store.identities.isEmpty)
    // A boot: only the file of IdentityIds stays.
    fixture.host.store.remove(SessionKey(uid: 1000, profile: "default"))
    try fixture.restart(text)
    expect(try fixture.ask(#"{"wait":60}"#).accessKeyID != nil)
    expect(texts(fixture, "token").count, equals: 1)
    expect(texts(fixture, "token").allSatisfy { !$0.contains(identity) })
    // Nor when the user signs out everywhere.
    expect(try fixture.ask(login).state, equals: "signedIn")
    expect(try fixture.ask(#"{"op":"logout","global":true}"#).errorCode == nil)
    expect(texts(fixture, "logout").count, equals: 1)
    expect(texts(fixture, "logout").allSatisfy { !$0.contains(identity) })
  }

  /// It stays the client's word where Cognito takes it: a renewal makes no other of it.
  @Test func `an identity claimed with logins is on no disk, before and after a renewal`() throws {
    let fixture = try ServiceFixture(
      """
      [profile default]
      identity_pool_id = \(FakeUpstreams.pool)
      cognito_endpoint = http://127.0.0.1:4599

      """)
    let login =
      #"{"op":"login","logins":{"accounts.google.com":"a-token"},"identity_id":"\#(Self.victim)"}"#
    expect(try fixture.ask(login).state, equals: "signedIn")
    expect(fixture.host.store.identities.isEmpty)
    fixture.advance(by: .seconds(60))
    expect(try fixture.ask(#"{"refresh":true}"#).accessKeyID != nil)
    expect(try fixture.ask(#"{"op":"identity"}"#)["IdentityId"]?.text, equals: Self.victim)
    expect(fixture.host.store.identities.isEmpty)
  }

  @Test func `STS alone proves no identity`() throws {
    let basic =
      "flow = basic\nrole_arn = arn:aws:iam::123456789012:role/app\n"
      + "sts_endpoint = http://127.0.0.1:4599"
    let fixture = try ServiceFixture(Configured.usual(profile: basic))
    let refused = try fixture.ask(Self.claim)
    expect(refused.errorCode, equals: "TokenRejected", "\(refused)")
    expect(fixture.host.http.requests.isEmpty)
  }

  // MARK: Another backend

  private static let elsewhere = [
    ("http://127.0.0.1/token", "http://127.0.0.2/token"),
    ("http://127.0.0.1/login", "http://127.0.0.2/login"),
    ("http://127.0.0.1/logout", "http://127.0.0.2/logout"),
    ("type = http", "type = http\nunix_socket = /run/other"),
    ("type = http", "type = http\nca_file = /etc/other"),
  ]

  @Test(arguments: elsewhere, [false, true])
  func `a session token goes to no other backend`(
    _ change: (String, String), _ isRestarted: Bool
  ) throws {
    let fixture = try ServiceFixture(Configured.password())
    expect(try fixture.ask(Self.logIn).state, equals: "signedIn")
    let credentials = try fixture.ask()
    let token = try #require(
      fixture.host.http.requests.last { $0.operation == "token" }?.header("Authorization"))
    let requests = fixture.host.http.requests.count
    let next = Configured.password().replacing(change.0, with: change.1, maxReplacements: 1)
    if isRestarted { try fixture.restart(next) } else { try fixture.reload(next) }
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "tokensInvalid")
    // Credentials are Cognito's.
    expect(try fixture.ask(), equals: credentials)
    expect(try fixture.ask(#"{"refresh":true,"wait":0}"#).errorCode, equals: "SignInRequired")
    expect(fixture.host.http.requests.count, equals: requests)
    expect(try fixture.ask(#"{"op":"logout","global":true}"#).errorCode == nil)
    expect(try fixture.ask(Self.logIn).state, equals: "signedIn")
    for request in fixture.host.http.requests.dropFirst(requests) {
      if request.operation == "logout" { expect(request.header("Authorization") != token) }
    }
  }

  @Test func `a session token goes on where its backend stays`() throws {
    let fixture = try ServiceFixture(Configured.password())
    expect(try fixture.ask(Self.logIn).state, equals: "signedIn")
    try fixture.reload(Configured.password(backend: "rate_limit = 7/s\nheader.X-Team = infra"))
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
    try fixture.restart(Configured.password(backend: "max_parallel = 3"))
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
  }

  @Test(arguments: [false, true])
  func `a developer token is asked for anew at another backend`(_ isRestarted: Bool) throws {
    let fixture = try ServiceFixture()
    let credentials = try fixture.ask()
    let identity = try #require(try fixture.ask(#"{"op":"identity"}"#)["IdentityId"]?.text)
    let next = Configured.usual().replacing("127.0.0.1/token", with: "127.0.0.2/token")
    if isRestarted { try fixture.restart(next) } else { try fixture.reload(next) }
    expect(try fixture.ask(), equals: credentials)
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
    let token = try fixture.ask(#"{"op":"token"}"#)
    expect(token["Token"] != nil, "\(token)")
    expect(fixture.host.upstreams.calls("token"), equals: 2)
    let request = try #require(fixture.host.http.requests.last)
    expect(request.url, equals: "http://127.0.0.2/token")
    expect(request.body.exposedText()?.contains(identity) == false)
    // From now on the identity is the new backend's.
    fixture.advance(by: .seconds(1800))
    _ = try fixture.ask(#"{"refresh":true}"#)
    expect(
      fixture.host.http.requests.last { $0.operation == "token" }?
        .body.exposedText()?.contains(identity) == true)
  }

  @Test func `a password on its way to the former backend is not waited for`() throws {
    let fixture = try ServiceFixture(Configured.password())
    fixture.host.upstreams.delays["login"] = .seconds(1)
    let client = fixture.connect()
    client.send(Self.logIn)
    try fixture.reload(
      Configured.password().replacing("127.0.0.1/token", with: "127.0.0.2/token"))
    expect(try client.next().errorCode, equals: "SignInFailed")
    fixture.advance(by: .seconds(5))
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedOut")
    expect(texts(fixture, "token").isEmpty)
  }
}
