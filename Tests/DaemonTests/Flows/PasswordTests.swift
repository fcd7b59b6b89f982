import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// Users who sign in with a password, and what comes of it.
@Suite(.onStage)
struct PasswordTests {
  private func host(_ options: [String] = [], backend: String = "") throws -> TestHost {
    try TestHost(sandbox: ["--require-session"] + options) {
      Configuration.password($0, backend: backend)
    }
  }

  @Test
  func passwordFromStandardInputSignsIn() throws {
    let host = try host()
    let before = try host.get("--wait", "0")
    expect(before.status, equals: 77)
    expect(before.errors.contains("credctl login"))
    let outcome = try host.credctl(
      input: "alice-password\n", "login", "--username", "alice", "--password-stdin")
    expect(outcome.status, equals: 0, "\(outcome)")
    expect(outcome.output.hasPrefix("default signedIn us-east-1:"))
    expect(outcome.errors.isEmpty)
    expect(
      try host.sandbox.lastBody("login"),
      equals: try JSON(
        #"{"Username":"alice","Password":"alice-password","#
          + #""DeveloperProviderName":"login.example.app"}"#))
    let bearer = try host.sandbox.lastRequest("token")["Headers"]?["Authorization"]?.text
    expect(bearer?.hasPrefix("Bearer ") == true)
    expect(try host.sandbox.lastBody("token")["DeveloperUserIdentifier"]?.text, equals: "alice")
    expect(try host.issued(host.credentials())["IdentityId"]?.text, equals: try host.identity())
    expect(!host.log.contains("alice-password"))
    expect(!host.log.contains(try #require(bearer?.dropFirst("Bearer ".count))))
  }

  /// For how long, attempt by attempt: `wrong passwords are slowed down, and a right one ends that`.
  @Test
  func wrongPasswordsAreSlowedDownMoreAndMore() throws {
    let host = try host()
    for _ in 1...3 {
      expect(try host.logIn("alice", password: "no").errorCode, equals: "SignInFailed")
    }
    var longest = 0.0
    // A pause may have ended before the next attempt, on a busy machine.
    try Deadline.usual.wait(for: "a pause of three seconds") {
      let calls = try host.sandbox.calls("backend.login")
      let reply = try host.logIn("alice", password: "no")
      guard reply.errorCode == "TooManyRequests" else {
        expect(reply.errorCode, equals: "SignInFailed", "\(reply)")
        return false
      }
      expect(try host.sandbox.calls("backend.login"), equals: calls)
      longest = max(longest, reply["Error"]?["RetryAfter"]?.number ?? 0)
      return longest >= 3
    }
    expect(try host.sandbox.calls("backend.login") < 10)
    expect(try host.state(), equals: "signedOut")
    try Deadline.usual.wait(for: "the sign-in") {
      try host.logIn("alice")["State"]?.text == "signedIn"
    }
    // Forgiven: the next typing error costs nothing.
    expect(try host.logIn("alice", password: "no").errorCode, equals: "SignInFailed")
    expect(try host.logIn("alice")["State"]?.text, equals: "signedIn")
  }

  @Test
  func refusedPasswordLeavesTheSessionAsItWas() throws {
    let host = try host()
    _ = try host.logIn("alice")
    let before = try host.credentials()
    let refused = try host.credctl(
      input: "wrong\n", "login", "--username", "bob", "--password-stdin")
    expect(refused.status, equals: 77)
    expect(refused.output.isEmpty)
    expect(refused.errors.contains("user name and password"))
    expect(try host.credentials(), equals: before)
    expect(try host.state(), equals: "signedIn")
  }

  @Test
  func revokedSessionWaitsForTheNextSignIn() throws {
    let host = try host()
    let identity = try host.logIn("alice")["IdentityId"]
    let watcher = try host.watch()
    try host.sandbox.control("POST", "revoke", #"{"User":"alice"}"#)
    // A client that asks for new credentials waits; one that does not is served.
    let waiting = try host.beginToAsk(#"{"refresh":true,"wait":120}"#)
    expect(try watcher.event("state")["State"]?.text, equals: "tokensInvalid")
    expect(try host.ask()["AccessKeyId"] != nil)
    let outcome = try host.credctl(
      input: "alice-password", "login", "--username", "alice", "--password-stdin", "--json")
    expect(try JSON(outcome.output)["IdentityId"], equals: identity)
    let credentials = try waiting.reply()
    expect(credentials["AccessKeyId"] != nil, "\(credentials)")
    expect(try host.issued(credentials)["IdentityId"], equals: identity)
    expect(try watcher.event("state")["State"]?.text, equals: "signedIn")
  }

  @Test
  func disabledUserIsRefusedByTheBackend() throws {
    let host = try host()
    _ = try host.logIn("alice")
    try host.sandbox.control("POST", "user", #"{"Name":"alice","Disabled":true}"#)
    try host.ask(#"{"op":"clear","what":"identity"}"#)
    expect(try host.ask().errorCode, equals: "BackendRejected")
    try host.sandbox.control("POST", "user", #"{"Name":"alice","Disabled":false}"#)
    try Deadline.usual.wait(for: "the backend's change of mind") {
      try host.ask()["AccessKeyId"] != nil
    }
  }

  @Test
  func oneUserAfterAnotherHasAnIdentityOfTheirOwn() throws {
    let host = try host()
    let alice = try host.logIn("alice")["IdentityId"]
    let first = try host.credentials()
    let watcher = try host.watch()
    let bob = try host.logIn("bob")["IdentityId"]
    expect(alice != bob)
    expect(try host.sandbox.lastBody("token")["IdentityId"] == nil)
    expect(try watcher.event("identityChanged")["IdentityId"], equals: bob)
    let second = try host.credentials()
    expect(second["AccessKeyId"] != first["AccessKeyId"])
    expect(try host.issued(second)["IdentityId"], equals: bob)
  }

  @Test
  func aLoginBesideAPasswordIsLinkedToItsUser() throws {
    let host = try host()
    let file = try Stage.current().newFile("facebook.token")
    let token = try host.sandbox.token(of: LoginsTests.facebook, "f1")
    try Data(token.utf8).write(to: URL(filePath: file))
    let login = [
      "login", "--username", "alice", "--password-stdin", "--login", "facebook=@\(file)",
    ]
    let outcome = try host.credctl(input: "alice-password\n", login)
    expect(outcome.status, equals: 0, "\(outcome)")
    expect(outcome.output.hasSuffix(" by password as alice\n"), "\(outcome)")
    expect(try host.sandbox.lastBody("login")["Logins"] == nil)
    expect(
      try host.sandbox.lastBody("token")["Logins"],
      equals: .object([LoginsTests.facebook: .string(token)]))
    for wrong in [login + ["--alone"], login + ["--login", "google=-"]] {
      expect(try host.credctl(input: "alice-password\n", wrong).status, equals: 64, "\(wrong)")
    }
  }

  @Test
  func bareLoginSaysWhatTheProfileWants() throws {
    let host = try TestHost { Configuration.password($0) + Configuration.direct($0, "social") }
    expect(try host.ask(#"{"op":"login"}"#).errorCode, equals: "SignInRequired")
    // Without a terminal there is no person to ask.
    let asked = try host.credctl("login", "--username", "alice")
    expect(asked.status != 0)
    expect(asked.output.isEmpty)
    let refused = try host.credctl("login", "--profile", "social")
    expect(refused.status, equals: 64)
    expect(refused.errors.contains("logins"))
    expect(try host.sandbox.allCalls, equals: 0)
  }

  @Test
  func backendThatTrustsTheHostTakesNoPassword() throws {
    let host = try TestHost()
    let refused = try host.logIn("alice")
    expect(refused.errorCode, equals: "InvalidRequest")
    expect(refused.errorMessage?.contains("no backend that takes passwords") == true)
    expect(try host.sandbox.allCalls, equals: 0)
  }
}
