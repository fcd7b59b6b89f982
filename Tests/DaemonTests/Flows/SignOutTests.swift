import TestSupport
import Testing

@testable import DaemonHarness

/// `logout`, `clear`, and what does not come back by itself.
@Suite(.onStage)
struct SignOutTests {
  @Test
  func signedOutUserDoesNotSilentlyReturn() throws {
    let host = try TestHost()
    let before = try host.credentials()
    let identity = try host.identity()
    let outcome = try host.credctl("logout")
    expect(outcome.status, equals: 0)
    expect(outcome.output.hasPrefix("default signedOut"))
    expect(try host.ask(#"{"op":"identity"}"#).keys, equals: ["Version", "Profile", "State"])
    let refused = try host.ask(#"{"wait":0.2}"#)
    expect(refused.errorCode, equals: "SignInRequired")
    expect(refused.errorMessage?.contains("signed out") == true)
    expect(try host.get("--wait", "0").status, equals: 77)
    expect(try host.ask(#"{"op":"token","wait":0}"#).errorCode, equals: "SignInRequired")
    expect(try host.sandbox.callbacks, equals: 1)
    // `login` signs in again a user that the backend accepts on this host's word.
    expect(try host.ask(#"{"op":"login"}"#)["State"]?.text, equals: "signedIn")
    let after = try host.credentials()
    expect(after["AccessKeyId"] != before["AccessKeyId"])
    expect(try host.identity(), equals: identity)
    expect(try host.sandbox.lastBody("token")["IdentityId"] == nil)
  }

  @Test
  func credctlBringsAUserOfThisHostBackWithoutAPassword() throws {
    let host = try TestHost()
    _ = try host.credctl("logout")
    let outcome = try host.credctl("login")
    expect(outcome.status, equals: 0, "\(outcome)")
    expect(outcome.output.hasPrefix("default signedIn us-east-1:"))
    expect(try host.ask()["AccessKeyId"] != nil)
  }

  @Test
  func globalSignOutTellsTheBackend() throws {
    let host = try TestHost { Configuration.password($0) }
    _ = try host.logIn("alice")
    let bearer = try host.sandbox.lastRequest("token")["Headers"]?["Authorization"]
    let identity = try host.identity()
    expect(try host.credctl("logout", "--global").status, equals: 0)
    expect(try host.state(), equals: "signedOut")
    expect(try host.sandbox.lastRequest("logout")["Headers"]?["Authorization"], equals: bearer)
    let body = try host.sandbox.lastBody("logout")
    expect(body["DeveloperUserIdentifier"]?.text, equals: "alice")
    expect(body["IdentityId"]?.text, equals: identity)
    // A sign-out of this host alone tells no other host.
    _ = try host.logIn("alice")
    expect(try host.credctl("logout").status, equals: 0)
    expect(try host.sandbox.calls("backend.logout"), equals: 1)
  }

  @Test
  func globalSignOutThatTheBackendDoesNotHearStillSignsOutHere() throws {
    let host = try TestHost { Configuration.password($0) }
    _ = try host.logIn("alice")
    try host.sandbox.plan(
      #"{"Service":"backend","Operation":"logout","Kind":"status","Status":503}"#)
    let outcome = try host.credctl("logout", "--global")
    expect(outcome.status, equals: 69)
    expect(outcome.errors.contains("signed out on this host, but not at the backend"))
    expect(try host.state(), equals: "signedOut")
    expect(try host.ask(#"{"wait":0}"#).errorCode, equals: "SignInRequired")
  }

  @Test
  func globalSignOutSaysThatThereIsNoBackendToTell() throws {
    let host = try TestHost()
    _ = try host.credentials()
    let outcome = try host.credctl("logout", "--global")
    expect(outcome.status, equals: 64)
    expect(outcome.output.isEmpty)
    expect(
      outcome.errors,
      equals: "credctl: signed out on this host, but not at the backend: "
        + "the backend of profile 'default' has no logout_url to call\n")
    expect(try host.state(), equals: "signedOut")
  }

  @Test
  func globalSignOutsOfOneUserAreBounded() throws {
    let host = try TestHost { Configuration.password($0) }
    let socket = try host.connect()
    try socket.send(String(repeating: #"{"op":"logout","global":true}"# + "\n", count: 100))
    let replies = try (0..<100).map { _ in try socket.reply(.usual) }
    // Sixty at once, and two a second while they are made.
    expect(replies.contains { $0.errorCode == "TooManyRequests" })
    expect(try host.sandbox.calls("backend.logout") < 100)
  }

  @Test
  func clearedCredentialsAreFetchedAnewForTheSameIdentity() throws {
    let host = try TestHost()
    let before = try host.credentials()
    let identity = try host.identity()
    let outcome = try host.credctl("clear", "credentials")
    expect(outcome.status, equals: 0)
    let known = try #require(identity)
    expect(outcome.output.hasPrefix("default signedIn \(known) by host as "), "\(outcome)")
    expect(try host.credentials()["AccessKeyId"] != before["AccessKeyId"])
    // The token is kept too.
    expect(try host.sandbox.callbacks, equals: 1)
    expect(try host.sandbox.exchanges, equals: 2)
  }

  @Test
  func clearedIdentityIsAskedForAnew() throws {
    let host = try TestHost()
    _ = try host.credentials()
    let outcome = try host.credctl("clear", "identity")
    expect(outcome.status, equals: 0)
    expect(try host.identity() == nil)
    _ = try host.credentials()
    expect(try host.sandbox.callbacks, equals: 2)
    expect(try host.sandbox.lastBody("token")["IdentityId"] == nil)
  }

  @Test
  func clearedIdentityEndsALoginThatOnlyItHeld() throws {
    let host = try TestHost { Configuration.direct($0) }
    let token = try host.sandbox.token(of: "accounts.google.com", "g1")
    _ = try host.logIn(["accounts.google.com": token])
    expect(try host.ask(#"{"op":"clear","what":"identity"}"#)["State"]?.text, equals: "signedOut")
    expect(try host.ask(#"{"wait":0}"#).errorCode, equals: "SignInRequired")
  }
}
