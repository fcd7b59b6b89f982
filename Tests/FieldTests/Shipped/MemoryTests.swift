import Foundation
import Glibc
import Testing
import TestSupport

@testable import DaemonHarness

/// Secrets of sessions that are over are nowhere in the daemon's memory; all of it is looked
/// through. Each test finds them first, while they are needed.
@Suite(.onStage, .enabled(if: MemoryScan.canBe, "reading credd's memory takes root"))
struct MemoryTests {
  private static let google = "accounts.google.com"
  private static let facebook = "graph.facebook.com"

  @Test func nothingIsLeftAfterALogout() throws {
    let host = try TestHost(managed: true)
    var secrets = try host.ask(#"{"op":"token"}"#).secrets()
    secrets.merge(try host.credentials().secrets()) { $1 }
    try host.expectAll(secrets)
    let replaced = try host.credentials(refresh: true).secrets("new")
    try host.expectAll(replaced)
    try host.expectNone(["old": try #require(secrets["SecretAccessKey"])])
    secrets.merge(replaced) { $1 }
    _ = try host.ask(#"{"op":"status"}"#)
    _ = try host.ask(#"{"op":"logout"}"#)
    try host.expectNone(secrets)
  }

  @Test func nothingIsLeftOfWhatExpired() throws {
    let host = try TestHost(
      sandbox: ["--credential-lifetime", "10", "--token-lifetime", "9"], managed: true)
    let secrets = try host.credentials().secrets()
    try host.expectAll(secrets)
    try host.sandbox.plan(#"{"Service":"cognito","Kind":"status","Status":503,"Count":-1}"#)
    // They count as expired before they are; then no caller may get them any more.
    try Deadline.usual.wait(for: "expiry") {
      try host.ask(#"{"wait":0}"#)["AccessKeyId"] == nil
    }
    try host.expectNone(secrets)
  }

  @Test func nothingIsLeftOfWhatWasCleared() throws {
    let host = try TestHost(managed: true)
    let token = try host.ask(#"{"op":"token"}"#).secrets()
    let credentials = try host.credentials().secrets()
    try host.expectAll(credentials.merging(token) { $1 })
    // So that nothing new comes, of which parts could be the same.
    try host.sandbox.plan(#"{"Service":"cognito","Kind":"status","Status":503,"Count":-1}"#)
    try host.sandbox.plan(#"{"Service":"backend","Kind":"status","Status":503,"Count":-1}"#)
    _ = try host.ask(#"{"op":"clear","what":"credentials"}"#)
    try host.expectNone(credentials)
    _ = try host.ask(#"{"op":"clear","what":"identity"}"#)
    try host.expectNone(token)
  }

  @Test func nothingIsLeftOfPasswords() throws {
    let (password, refused) = (newSecret(14), newSecret(30))
    let seed = try Configuration.seed(#""Users":[{"Name":"alice","Password":"\#(password)"}]"#)
    let host = try TestHost(sandbox: seed, managed: true) { Configuration.password($0) }
    for (text, code) in [(refused, "SignInFailed"), (password, nil)] {
      try host.sandbox.plan(
        #"{"Service":"backend","Operation":"login","Kind":"delay","Seconds":1.5}"#)
      let socket = try host.connect()
      try socket.send(
        #"{"op":"login","profile":"default","username":"alice","password":"\#(text)"}"# + "\n")
      try host.expectAll(["password": text])
      expect(try socket.reply().errorCode, equals: code)
      // Accepted, it is not needed any more: the backend's session is.
      try host.expectNone(["password": text])
    }
    var secrets = try host.credentials().secrets()
    secrets["session"] = try host.bearer()
    try host.expectAll(secrets)
    _ = try host.ask(#"{"op":"logout","global":true}"#)
    try host.expectNone(secrets)
  }

  /// Callers wait for the next sign-in, until they are released.
  @Test func nothingIsLeftOfALostSignIn() throws {
    let host = try TestHost(sandbox: ["--require-session"], managed: true) {
      Configuration.password($0)
    }
    expect(try host.logIn("alice").errorCode == nil)
    let token = try host.ask(#"{"op":"token"}"#).secrets()
    let session = ["session": try host.bearer()]
    try host.expectAll(session.merging(token) { $1 })
    try host.sandbox.control("POST", "revoke", #"{"User":"alice"}"#)
    let waiting = try host.beginToAsk(#"{"refresh":true,"wait":120}"#)
    try Deadline.usual.wait(for: "the sign-in to be lost") {
      try host.state() == "tokensInvalid"
    }
    try host.expectNone(session)
    expect(try host.ask(#"{"op":"release"}"#)["Released"]?.number, equals: 1)
    expect(try waiting.reply().errorCode, equals: "SignInRequired")
    _ = try host.ask(#"{"op":"logout"}"#)
    try host.expectNone(session.merging(token) { $1 })
  }

  @Test func nothingIsLeftOfTokensAtHandAndLogins() throws {
    let host = try TestHost(managed: true) { sandbox in
      Configuration.usual(sandbox) + Configuration.direct(sandbox, "direct")
    }
    let mine = try host.ask(#"{"op":"token"}"#)
    let (identity, token) = (mine["IdentityId"]?.text ?? "", mine["Token"]?.text ?? "")
    try host.expectAll(["token": token])
    _ = try host.ask(#"{"op":"logout"}"#)
    try host.expectNone(["token": token])
    let reply = try host.ask(
      #"{"op":"login","profile":"direct","identity_id":"\#(identity)","token":"\#(token)"}"#)
    expect(reply.errorCode == nil)
    try host.expectAll(["token": token])
    _ = try host.ask(#"{"op":"logout","profile":"direct"}"#)
    try host.expectNone(["token": token])
    // Not even until a logout, where Cognito takes it no more.
    _ = try host.ask(
      #"{"op":"login","profile":"direct","identity_id":"\#(identity)","token":"\#(token)"}"#)
    try host.expectAll(["token": token])
    try host.sandbox.control("POST", "revoke", #"{"IdentityId":"\#(identity)"}"#)
    _ = try host.ask(#"{"profile":"direct","refresh":true,"wait":1}"#)
    try Deadline.usual.wait(for: "the refusal") { try host.state("direct") == "tokensInvalid" }
    try host.expectNone(["token": token])
    let logins = Dictionary(
      uniqueKeysWithValues: (0..<10).map { ("p\($0).example", newSecret(40_000)) })
    // The last byte makes it a line, which is refused.
    let members = logins.map { #""\#($0)":"\#($1)""# }.joined(separator: ",")
    let socket = try host.connect()
    try socket.send(#"{"op":"login","profile":"direct","logins":{\#(members)}}"#)
    // A look for all of it would take longer than half a line may.
    let ends = logins.mapValues { String($0.suffix(300)) }
    try host.expectAll(ends)
    try socket.send("\n")
    expect(try socket.reply().errorCode, equals: "SignInFailed")
    try host.expectNone(ends)
  }

  @Test func nothingIsLeftOfOtherProvidersLogins() throws {
    let host = try TestHost(managed: true) { Configuration.direct($0) }
    // One is a JWT, the other is opaque.
    let logins = [
      Self.google: try host.sandbox.token(of: Self.google, "g1"),
      Self.facebook: try host.sandbox.token(of: Self.facebook, "f1"),
    ]
    expect(try host.logIn(logins).errorCode == nil)
    var secrets = try host.credentials().secrets()
    secrets.merge(logins) { $1 }
    try host.expectAll(secrets)
    // One that takes another's place.
    let next = try host.sandbox.token(of: Self.facebook, "f1", #","Lifetime":1800"#)
    expect(try host.logIn([Self.facebook: next]).errorCode == nil)
    try host.expectAll(["next": next])
    try host.expectNone([Self.facebook: logins[Self.facebook] ?? ""], besides: [next])
    // One that is refused. Before another person's, credd would ask.
    let bad = try host.sandbox.token(of: Self.google, "g1", #","Lifetime":-60"#)
    try host.sandbox.plan(#"{"Service":"cognito","Kind":"delay","Seconds":2}"#)
    let socket = try host.connect()
    try socket.send(
      #"{"op":"login","profile":"default","logins":{"\#(Self.google)":"\#(bad)"}}"# + "\n")
    try host.expectAll(["refused": bad])
    expect(try socket.reply().errorCode, equals: "TokenRejected")
    try host.expectNone(["refused": bad], besides: [logins[Self.google] ?? ""])
    _ = try host.ask(#"{"op":"logout"}"#)
    secrets["next"] = next
    try host.expectNone(secrets)
  }

  @Test(.enabled(if: OtherUser.canBe, "takes root, which can be other users"))
  func nothingIsLeftOfWhatWasAskedForOthers() throws {
    let host = try TestHost(sandbox: ["--any-user"], managed: true) { sandbox in
      Configuration.http(url: sandbox.url + "/token")
        + Configuration.profile(
          "default", endpoint: sandbox.url, identifier: "{user}", "impersonate = root")
    }
    unsafe chmod(host.socketPath, 0o666)
    let socket = try host.connect()
    try socket.send(#"{"user":"games","id":1}"# + "\n")
    let secrets = try socket.reply().secrets()
    try host.expectAll(secrets)
    let credctl = try Stage.current().executable(Programs.credctl)
    expect(try host.credctl(credctl, as: .games, "logout").status, equals: 0)
    // Not even on the connection that asked, which lives.
    try host.expectNone(secrets)
    withExtendedLifetime(socket) {}
  }

  @Test func nothingIsLeftOfUnreadReplies() throws {
    let host = try TestHost(managed: true)
    let secrets = try host.credentials().secrets()
    var deaf: [StreamSocket] = []
    for _ in 0..<10 {
      let socket = try host.connect()
      try socket.send(String(repeating: "{}\n", count: 2000))
      deaf.append(socket)
    }
    try host.expectAll(secrets)
    _ = try host.ask(#"{"op":"logout"}"#)
    // The session has them no more: what is found stands in the replies.
    try host.expectAll(secrets)
    deaf = []
    try host.expectNone(secrets)
  }
}
