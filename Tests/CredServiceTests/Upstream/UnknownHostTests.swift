import CredCore
import Logging
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// A backend without a `login_url` that answers 401: it does not know this host, whatever the host shows
/// it.
struct UnknownHostTests {
  private static let refusal = #"{"Message":"this host is not known"}"#

  @Test(arguments: ["", "header.X-Api-Key = key", "unix_socket = /run/backend.sock"])
  func whereNobodyCanSignInNobodyIsToldTo(_ keys: String) throws {
    let fixture = try ServiceFixture(Configured.usual(backend: keys))
    fixture.host.upstreams.faults["token"] = .status(401, Self.refusal)
    for uid in UInt32(1000)...1002 {
      let reply = try fixture.ask(uid: uid)
      expect(reply.errorCode, equals: "BackendRejected")
      expect(reply["Error"]?["Kind"]?.text, equals: "permanent")
      expect(reply.errorMessage?.contains("does not know this host") == true, "\(reply)")
      let state = try fixture.ask(#"{"op":"identity"}"#, uid: uid).state
      expect(state != "tokensInvalid")
    }
    // An operator is told, once.
    let warnings = fixture.host.log.entries.filter {
      $0.level == .warning && $0.message.contains("does not know this host")
    }
    expect(warnings.count, equals: 1)
  }

  @Test func anUnknownHostSignsNobodyOut() throws {
    let fixture = try ServiceFixture()
    expect(try fixture.ask().accessKeyID != nil)
    fixture.advance(by: .seconds(2))
    fixture.host.upstreams.faults["token"] = .status(401, Self.refusal)
    let renew = #"{"refresh":true,"wait":1}"#
    expect(try fixture.ask(renew).errorCode, equals: "BackendRejected")
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
    expect(try fixture.ask().accessKeyID != nil)
    // As soon as the host is known again, all is well.
    fixture.host.upstreams.faults = [:]
    fixture.advance(by: .seconds(10))
    expect(try fixture.ask(renew).accessKeyID != nil)
  }

  @Test func whereUsersSignInTheyAreToldTo() throws {
    let fixture = try ServiceFixture(Configured.password())
    let login = #"{"op":"login","username":"alice","password":"alice-password"}"#
    expect(try fixture.ask(login).state, equals: "signedIn")
    fixture.advance(by: .seconds(2))
    fixture.host.upstreams.faults["token"] = .status(401, Self.refusal)
    let reply = try fixture.ask(#"{"refresh":true,"wait":2}"#)
    expect(reply.errorCode, equals: "SignInRequired", "\(reply)")
  }

  /// A client that brought a token can bring another one.
  @Test func whoCameWithATokenIsToldToSignInAgain() throws {
    let fixture = try ServiceFixture()
    let identity = fixture.host.upstreams.identity(of: "alice")
    let login = #"{"op":"login","identity_id":"\#(identity)","token":"a-token-of-somebody"}"#
    expect(try fixture.ask(login).state, equals: "signedIn")
    fixture.host.upstreams.faults["GetCredentialsForIdentity"] = .status(
      400, #"{"__type":"NotAuthorizedException","message":"Invalid login token. Token expired"}"#)
    fixture.host.upstreams.faults["token"] = .status(401, Self.refusal)
    fixture.advance(by: .seconds(2))
    _ = try fixture.ask(#"{"refresh":true,"wait":2}"#)
    fixture.advance(by: .seconds(600))
    let reply = try fixture.ask(#"{"refresh":true,"wait":2}"#)
    expect(reply.errorCode, equals: "SignInRequired", "\(reply)")
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "tokensInvalid")
  }

  /// Another program keeps the token file, so a person has brought nothing.
  @Test func aTokenFileIsNobodysSignIn() throws {
    let fixture = try ServiceFixture(
      Configured.usual(
        profile: "web_identity_token_file = /run/token\nweb_identity_provider = idp.example.com"))
    fixture.host.queries.files["/run/token"] = SampleJWT.text(#"{"sub":"h-1"}"#)
    fixture.host.upstreams.faults["token"] = .status(401, Self.refusal)
    let reply = try fixture.ask()
    expect(reply.errorCode, equals: "BackendRejected", "\(reply)")
    let brought = fixture.host.http.requests.last { $0.operation == "token" }?.json?["Logins"]
    expect(brought?["idp.example.com"] != nil)
    // Logins that a client brings beside it are a person's.
    let login = #"{"op":"login","logins":{"graph.facebook.com":"opaque"}}"#
    expect(try fixture.ask(login).errorCode, equals: "SignInFailed")
  }

  /// The account may be what the backend speaks of, also when its provider is away and gives no token.
  @Test func aLinkedAccountThatStaysAwayIsAPersons() throws {
    let host = try LinkedHost()
    try host.link()
    host.provider.faults["token"] = Array(repeating: .failure(.connect), count: 99)
    host.fixture.advance(by: .seconds(3660))
    host.refusals = Array(repeating: .reply(401, Self.refusal), count: 9)
    let reply = try host.ask(#"{"refresh":true,"wait":20}"#)
    expect(host.linked.last, equals: .some(nil))
    expect(reply.errorCode, equals: "SignInRequired", "\(reply)")
  }

  /// Such a backend has no session of the user that could end.
  @Test func aSignOutThatSuchABackendAnswers401IsDone() throws {
    let fixture = try ServiceFixture(
      Configured.usual(backend: "logout_url = http://127.0.0.1/logout"))
    expect(try fixture.ask().accessKeyID != nil)
    fixture.host.upstreams.faults["logout"] = .status(401, Self.refusal)
    let reply = try fixture.ask(#"{"op":"logout","global":true}"#)
    expect(reply.errorCode == nil, "\(reply)")
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedOut")
  }
}
