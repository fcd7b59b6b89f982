import TestSupport
import Testing

@testable import DaemonHarness

/// Unauthenticated identities, and what becomes of them.
@Suite(.onStage)
struct GuestTests {
  private func host(_ configuration: (Sandbox) -> String) throws -> TestHost {
    try TestHost(sandbox: ["--unauthenticated"], configuration)
  }

  @Test
  func guestGetsCredentialsWithoutLogins() throws {
    let host = try host {
      Configuration.direct($0, "default", "guest = yes\naccount_id = \(Configuration.account)")
    }
    let credentials = try host.credentials()
    expect(try host.state(), equals: "guest")
    let issued = try host.issued(credentials)
    expect(issued["RoleArn"]?.text, equals: Configuration.role("guest"))
    expect(issued["IdentityId"]?.text, equals: try host.identity())
    let body = try host.sandbox.lastBody("GetId")
    expect(body.keys, equals: ["IdentityPoolId", "AccountId"])
    expect(try host.sandbox.lastBody("GetCredentialsForIdentity").keys, equals: ["IdentityId"])
    // The identity stays; it is asked for once.
    expect(try host.credentials(refresh: true)["AccessKeyId"] != credentials["AccessKeyId"])
    expect(try host.sandbox.calls("cognito.GetId"), equals: 1)
  }

  @Test
  func guestHasNoDeveloperToken() throws {
    let host = try host { Configuration.direct($0, "default", "guest = yes") }
    _ = try host.credentials()
    expect(try host.ask(#"{"op":"token","wait":0}"#).errorCode, equals: "AccessDenied")
  }

  @Test
  func poolWithoutGuestsIsSaid() throws {
    let host = try TestHost { Configuration.direct($0, "default", "guest = yes") }
    let refused = try host.ask()
    expect(refused.errorCode, equals: "PoolMisconfigured")
    expect(refused.errorMessage?.contains("guest = no") == true)
    // Mended at the pool, it works without a restart.
    try host.sandbox.control("POST", "pool", #"{"Unauthenticated":true}"#)
    try Deadline.usual.wait(for: "the guest") { try host.ask()["AccessKeyId"] != nil }
  }

  @Test
  func guestBecomesTheUserWithTheSameIdentity() throws {
    let host = try host { Configuration.password($0, "guest = yes") }
    let guest = try host.credentials()
    let identity = try #require(try host.identity())
    let watcher = try host.watch()
    let reply = try host.logIn("alice")
    expect(reply["State"]?.text, equals: "signedIn")
    expect(reply["IdentityId"]?.text, equals: identity)
    expect(try host.sandbox.lastBody("token")["IdentityId"]?.text, equals: identity)
    expect(try watcher.event("state")["State"]?.text, equals: "signedIn")
    let credentials = try host.credentials()
    expect(credentials["AccessKeyId"] != guest["AccessKeyId"])
    let issued = try host.issued(credentials)
    expect(issued["IdentityId"]?.text, equals: identity)
    expect(issued["RoleArn"]?.text, equals: Configuration.role("authenticated"))
  }

  @Test
  func userWithAnIdentityLeavesTheGuestsBehind() throws {
    let host = try host {
      Configuration.password($0, "guest = yes")
        + Configuration.profile("other", endpoint: $0.url)
    }
    let known = try #require(try host.logIn("alice", profile: "other")["IdentityId"]?.text)
    _ = try host.credentials()
    let guest = try #require(try host.identity())
    expect(guest != known)
    let watcher = try host.watch()
    expect(try host.logIn("alice")["IdentityId"]?.text, equals: known)
    let change = try watcher.event("identityChanged")
    expect(change["PreviousIdentityId"]?.text, equals: guest)
    expect(change["IdentityId"]?.text, equals: known)
    expect(try host.issued(host.credentials())["IdentityId"]?.text, equals: known)
    // Asked with the guest's IdentityId, which is not alice's, then without it.
    expect(try host.sandbox.lastBody("token")["IdentityId"] == nil)
  }

  @Test
  func guestBecomesASocialUser() throws {
    let host = try host { Configuration.direct($0, "default", "guest = yes") }
    _ = try host.credentials()
    let identity = try host.identity()
    let token = try host.sandbox.token(of: "graph.facebook.com", "fb1")
    expect(try host.logIn(["graph.facebook.com": token])["State"]?.text, equals: "signedIn")
    expect(try host.identity(), equals: identity)
    let issued = try host.issued(host.credentials())
    expect(issued["IdentityId"]?.text, equals: identity)
    expect(issued["RoleArn"]?.text, equals: Configuration.role("authenticated"))
  }

  @Test
  func signedOutUserIsAGuestAgain() throws {
    let host = try host { Configuration.password($0, "guest = yes") }
    let user = try #require(try host.logIn("alice")["IdentityId"]?.text)
    expect(try host.ask(#"{"op":"logout"}"#)["State"]?.text, equals: "signedOut")
    let issued = try host.issued(host.credentials())
    expect(issued["RoleArn"]?.text, equals: Configuration.role("guest"))
    expect(issued["IdentityId"]?.text != user)
    expect(try host.state(), equals: "guest")
  }
}
