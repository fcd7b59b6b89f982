import CredCore
import Foundation
import Testing

@testable import CredService

/// A user pool that renews tokens, rotates them where it is told to, and notes what it was asked.
final class FakePool {
  static let id = "us-east-1_AbCdEf123"
  static let client = "1example23456789"

  /// Whether each renewal brings another refresh token, and the former one is dead.
  var rotates = false
  /// The refresh tokens that are accepted.
  private(set) var live: Set<String> = ["refresh-0"]
  private(set) var operations: [String] = []
  /// The bodies of the requests, in the same order.
  private(set) var bodies: [JSONValue] = []
  /// Answered in place of the usual reply, once each, by operation.
  var faults: [String: [FakeHTTP.Answer]] = [:]
  /// Whether a rotated token is good once more.
  var hasGrace = true
  /// Renewals with a token that was rotated away or revoked.
  private(set) var misuses = 0
  /// Further claims of access tokens, after a comma.
  var moreAccessClaims = ""
  /// Replies that are lost after the pool has done its work.
  var lostReplies = 0
  private var issued = 0

  /// Nil for a request to somebody else.
  func answer(_ request: HTTPRequest) -> FakeHTTP.Answer? {
    guard request.header("X-Amz-Target")?.hasPrefix("AWSCognitoIdentityProviderService.") == true,
      let json = request.json
    else { return nil }
    operations.append(request.operation)
    bodies.append(json)
    if var list = faults[request.operation], !list.isEmpty {
      let fault = list.removeFirst()
      faults[request.operation] = list
      return fault
    }
    let reply = reply(request.operation, json)
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
      live.remove(json["Token"]?.text ?? "")
      return .reply(200, "{}")
    case "GlobalSignOut":
      live = []
      return .reply(200, "{}")
    default: return Self.refusal("UnknownOperationException", "")
    }
  }

  private func renewal(_ token: String) -> FakeHTTP.Answer {
    guard live.contains(token) else {
      misuses += 1
      return Self.refusal("NotAuthorizedException", "Invalid Refresh Token.")
    }
    issued += 1
    guard rotates else { return .reply(200, #"{"AuthenticationResult":{\#(tokens())}}"#) }
    live.insert("refresh-\(issued)")
    // The grace period of the former one ends with the next renewal.
    live = live.filter { hasGrace && $0 == token || $0 == "refresh-\(issued)" }
    return .reply(
      200, #"{"AuthenticationResult":{\#(tokens()),"RefreshToken":"refresh-\#(issued)"}}"#)
  }

  /// A new sign-in: its refresh token.
  func begin() -> String {
    issued += 1
    misuses = 0
    live = ["refresh-\(issued)"]
    return "refresh-\(issued)"
  }

  static func refusal(_ name: String, _ message: String) -> FakeHTTP.Answer {
    .reply(400, #"{"__type":"\#(name)","message":"\#(message)"}"#)
  }

  private func tokens() -> String {
    let id = Self.jwt("id", #""aud":"\#(Self.client)","cognito:username":"alice","n":\#(issued)"#)
    let access = Self.jwt(
      "access",
      #""client_id":"\#(Self.client)","username":"alice","n":\#(issued)\#(moreAccessClaims)"#)
    return #""IdToken":"\#(id)","AccessToken":"\#(access)","ExpiresIn":3600"#
  }

  private static func jwt(_ use: String, _ claims: String) -> String {
    let text =
      #"{"sub":"s-1","token_use":"\#(use)","iat":1767323045,"exp":1767326645,"#
      + #""auth_time":1767320000,\#(claims)}"#
    let payload = Data(text.utf8).base64EncodedString()
      .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    return "e30.\(payload).c2ln"
  }
}

extension Configured {
  /// One profile with a user pool.
  static func userPool(
    profile: String = "", backend: String = "", client: String = FakePool.client
  ) -> String {
    """
    [backend staff]
    type = user-pool
    user_pool_id = \(FakePool.id)
    client_id = \(client)
    user_pool_endpoint = http://127.0.0.1:4600
    timeout = 2s
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

  /// A user of the pool has signed in: what the conversation with the pool ends with.
  func signInAtPool(
    uid: UInt32 = 1000, username: String = "alice", refresh: String = "refresh-0",
    signedIn: WallTime = WallTime(milliseconds: 1_767_320_000_000)
  ) throws {
    // The session begins.
    _ = try ask(#"{"op":"identity"}"#, uid: uid)
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
    let signIn = PoolSignIn(
      tokens: tokens, username: username, issuer: client.issuer, serverTime: nil, received: now)
    service.handle(
      .signInRequested(
        SignInRequest(
          id: 1 << 40, input: .poolTokens(signIn), deadline: now + .seconds(30))),
      session, now)
    host.settle()
  }

  private static func signInReply(
    username: String, refresh: String, signedIn: Int64
  ) -> String {
    func jwt(_ text: String) -> String {
      let payload = Data(text.utf8).base64EncodedString()
        .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
      return "e30.\(payload).c2ln"
    }
    let times = #""sub":"s-1","iat":1767323045,"exp":1767326645,"auth_time":\#(signedIn)"#
    let id = jwt(#"{\#(times),"token_use":"id","cognito:username":"\#(username)"}"#)
    let access = jwt(#"{\#(times),"token_use":"access","username":"\#(username)"}"#)
    return #"{"AuthenticationResult":{"IdToken":"\#(id)","AccessToken":"\#(access)","#
      + #""RefreshToken":"\#(refresh)","ExpiresIn":3600}}"#
  }
}
