import CredCore
import SimulationKit
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// A user pool that renews tokens, rotates them where it is told to, and notes what it was asked.
final class FakePool {
  static let id = "us-east-1_AbCdEf123"
  static let client = "1example23456789"

  /// Those of its one user.
  private var tokens = RefreshTokens("refresh-0")
  private(set) var operations: [String] = []
  /// The bodies of the requests, in the same order.
  private(set) var bodies: [JSONValue] = []
  /// Answered in place of the usual reply, once each, by operation.
  var faults: [String: [FakeHTTP.Answer]] = [:]
  /// `iss` of the tokens; nil for none.
  var issuer: String?
  /// Further claims of access tokens, after a comma.
  var moreAccessClaims = ""
  /// Replies that are lost after the pool has done its work.
  var lostReplies = 0
  /// What a reply takes, by operation. The pool has done its work before.
  var delays: [String: Duration] = [:]
  private var issued = 0
  /// The sign-ins of others than alice, by user name.
  private var others: [String: RefreshTokens<String>] = [:]

  /// Whether each renewal brings another refresh token, and the former one is dead.
  var rotates: Bool {
    get { tokens.rotates }
    set { tokens.rotates = newValue }
  }

  /// Whether a rotated token is good once more.
  var hasGrace: Bool {
    get { tokens.hasGrace }
    set { tokens.hasGrace = newValue }
  }

  /// The refresh tokens that are accepted.
  var live: Set<String> { others.values.reduce(into: tokens.live) { $0.formUnion($1.live) } }
  /// Renewals with a token that was rotated away or revoked.
  var misuses: Int { tokens.misuses }

  /// Nil for a request to somebody else.
  func answer(_ request: HTTPRequest) -> FakeHTTP.Answer? {
    guard request.header("X-Amz-Target")?.hasPrefix("AWSCognitoIdentityProviderService.") == true,
      let json = request.json
    else { return nil }
    operations.append(request.operation)
    bodies.append(json)
    if var list = faults[request.operation], !list.isEmpty {
      var fault = list.removeFirst()
      faults[request.operation] = list
      fault.time = max(fault.time, delays[request.operation] ?? .zero)
      return fault
    }
    var reply = reply(request.operation, json)
    reply.time = delays[request.operation] ?? .zero
    guard lostReplies > 0 else { return reply }
    lostReplies -= 1
    return .failure(.reset)
  }

  private func reply(_ operation: String, _ json: JSONValue) -> FakeHTTP.Answer {
    switch operation {
    case "GetTokensFromRefreshToken": return renewal(json["RefreshToken"]?.text ?? "")
    case "InitiateAuth":
      return renewal(json["AuthParameters"]?["REFRESH_TOKEN"]?.text ?? "")
    case "RevokeToken":
      tokens.revoke(json["Token"]?.text ?? "")
      for username in others.keys { others[username]?.revoke(json["Token"]?.text ?? "") }
      return .reply(200, "{}")
    case "GlobalSignOut":
      tokens.revokeAll()
      return .reply(200, "{}")
    default: return Self.refusal("UnknownOperationException", "")
    }
  }

  private func renewal(_ token: String) -> FakeHTTP.Answer {
    let number = issued + 1
    let username = others.first { $0.value.live.contains(token) }?.key ?? "alice"
    let renewal =
      username == "alice"
      ? tokens.renew(token) { "refresh-\(number)" }
      : others[username]?.renew(token) { "refresh-\(number)" } ?? .refused
    guard case .refused = renewal else {
      issued = number
      var more = ""
      if case .replaced(let successor) = renewal { more = #","RefreshToken":"\#(successor)""# }
      return .reply(200, #"{"AuthenticationResult":{\#(result(of: username))\#(more)}}"#)
    }
    return Self.refusal("NotAuthorizedException", "Invalid Refresh Token.")
  }

  /// Another sign-in beside those that there are: its refresh token.
  func add(_ username: String) -> String {
    issued += 1
    var others = RefreshTokens("refresh-\(issued)")
    others.rotates = rotates
    others.hasGrace = hasGrace
    self.others[username] = others
    return "refresh-\(issued)"
  }

  static func refusal(_ name: String, _ message: String) -> FakeHTTP.Answer {
    .reply(400, #"{"__type":"\#(name)","message":"\#(message)"}"#)
  }

  private func result(of username: String) -> String {
    let named = issuer.map { #","iss":"\#($0)""# } ?? ""
    let id = Self.jwt(
      "id", #""aud":"\#(Self.client)","cognito:username":"\#(username)","n":\#(issued)\#(named)"#)
    let access = Self.jwt(
      "access",
      #""client_id":"\#(Self.client)","username":"\#(username)","n":\#(issued)\#(named)"#
        + moreAccessClaims)
    return #""IdToken":"\#(id)","AccessToken":"\#(access)","ExpiresIn":3600"#
  }

  private static func jwt(_ use: String, _ claims: String) -> String {
    let text =
      #"{"sub":"s-1","token_use":"\#(use)","iat":1767323045,"exp":1767326645,"#
      + #""auth_time":1767320000,\#(claims)}"#
    return SampleJWT.text(text)
  }
}

extension Configured {
  /// One profile with a user pool.
  static func userPool(
    profile: String = "", backend: String = "", client: String = FakePool.client,
    timeout: String = "2s"
  ) -> String {
    """
    [backend staff]
    type = user-pool
    user_pool_id = \(FakePool.id)
    client_id = \(client)
    user_pool_endpoint = http://127.0.0.1:4600
    timeout = \(timeout)
    \(backend)
    [profile default]
    identity_pool_id = \(FakeUpstreams.pool)
    backend = staff
    cognito_endpoint = http://127.0.0.1:4599
    \(profile)

    """
  }
}

extension ServiceFixture {
  /// A service with a user pool beside the usual upstreams.
  static func ofUserPool(
    _ text: String = Configured.userPool()
  ) throws -> (fixture: ServiceFixture, pool: FakePool) {
    let host = FakeHost()
    let pool = FakePool()
    host.http.answer = { [unowned upstreams = host.upstreams] request in
      pool.answer(request) ?? upstreams.answer(request)
    }
    return (try ServiceFixture(text, host: host), pool)
  }

  /// A pool that replaces refresh tokens without grace has got a renewal for a client that waits. Its
  /// answer is on the way until ``letAnswersArrive()``.
  static func withRenewalUnderWay() throws -> (
    fixture: ServiceFixture, pool: FakePool, waiting: TestClient
  ) {
    let (fixture, pool) = try ofUserPool()
    pool.rotates = true
    pool.hasGrace = false
    try fixture.signInAtPool()
    fixture.advance(by: .seconds(60))
    fixture.host.http.holds = true
    let waiting = fixture.connect()
    waiting.sendOnly(#"{"refresh":true,"wait":5}"#)
    fixture.host.settle()
    expect(pool.operations, equals: ["GetTokensFromRefreshToken"])
    return (fixture, pool, waiting)
  }

  func letAnswersArrive() {
    host.settle()
    host.http.holds = false
    host.http.deliver()
    advance(by: .seconds(5))
  }

  /// A user of the pool has signed in: what the conversation with the pool ends with.
  func signInAtPool(
    uid: UInt32 = 1000, username: String = "alice", refresh: String = "refresh-0",
    signedIn: WallTime = WallTime(milliseconds: 1_767_320_000_000),
    serverTime: WallTime? = nil, device: String? = nil
  ) throws {
    // The session begins.
    _ = try ask(#"{"op":"release"}"#, uid: uid)
    guard let session = service.sessions[SessionKey(uid: uid, profile: "default")],
      let client = try session.profile.userPoolClient(secret: nil)
    else { throw InvalidInput(field: "the profile", reason: "has no session or no user pool") }
    let reply = HTTPReply(
      status: 200,
      body: Secret(
        Self.signInReply(
          username: username, refresh: refresh, signedIn: signedIn.milliseconds / 1000)))
    guard case .tokens(let tokens) = try client.signInReply(from: reply, to: .signIn).step else {
      throw InvalidInput(field: "the reply", reason: "has no tokens")
    }
    let signIn = AcceptedSignIn(
      tokens: tokens, username: username, deviceKey: device, issuer: client.issuer,
      serverTime: serverTime ?? host.clock.wallTime, received: now)
    service.sessionTable.handle(
      .signInRequested(
        SignInRequest(
          id: 1 << 40, input: .providerTokens(signIn), deadline: now + .seconds(30))),
      session, now)
    host.settle()
  }

  private static func signInReply(
    username: String, refresh: String, signedIn: Int64
  ) -> String {
    let times = #""sub":"s-1","iat":1767323045,"exp":1767326645,"auth_time":\#(signedIn)"#
    let id = SampleJWT.text(#"{\#(times),"token_use":"id","cognito:username":"\#(username)"}"#)
    let access = SampleJWT.text(#"{\#(times),"token_use":"access","username":"\#(username)"}"#)
    return #"{"AuthenticationResult":{"IdToken":"\#(id)","AccessToken":"\#(access)","#
      + #""RefreshToken":"\#(refresh)","ExpiresIn":3600}}"#
  }
}
