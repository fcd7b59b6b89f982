import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// Sessions that the sandbox's user pool tracks, through the real programs.
@Suite(.onStage)
struct TrackedSessionTests {
  private static let actions = "account_actions = get sessions end-session"

  /// A second sign-in of alice's, of another program than credd.
  private func signInElsewhere(_ host: TestHost) throws {
    let answer = try host.sandbox.userPool(
      "InitiateAuth",
      #"{"ClientId":"\#(UserPoolHost.client)","AuthFlow":"USER_PASSWORD_AUTH","#
        + #""AuthParameters":{"USERNAME":"alice","PASSWORD":"\#(UserPoolHost.password)"}}"#)
    try #require(answer["AuthenticationResult"] != nil, "\(answer)")
  }

  @Test func sessionsAreListedAndOthersEnded() throws {
    let host = try UserPoolHost(Self.actions)
    try host.pool(#"{"UserSessionTracking":"ENABLED","SessionsPerPage":1}"#)
    try host.signIn()
    try signInElsewhere(host.host)
    let listed = try host.host.credctl("account", "default", "sessions")
    expect(listed.status, equals: 0, "\(listed)")
    let rows = listed.output.split(separator: "\n").dropFirst()
    let own = try #require(rows.first { $0.hasSuffix(" yes") }?.prefix(28)).description
    let other = try #require(rows.first { !$0.hasSuffix(" yes") }?.prefix(28)).description
    expect(rows.count == 2 && other.hasPrefix("tkn") && listed.output.contains("Sandbox"))
    let json = try host.host.credctl("account", "sessions", "--json")
    expect(json.output.split(separator: "\n").count, equals: 1, "\(json)")
    expect(json.output.contains(own) && json.output.contains(other), "\(json)")
    let ended = try host.host.credctl("account", "default", "end-session", other)
    expect(ended.status == 0 && ended.output == "the session has ended\n", "\(ended)")
    let refused = try host.host.credctl("account", "default", "end-session", own)
    expect(refused.status == 77 && refused.errors.contains("'logout' ends it"), "\(refused)")
    let unknown = try host.host.credctl("account", "default", "end-session", other)
    expect(unknown.status == 77 && unknown.errors.contains("does not know"), "\(unknown)")
    let wrong = try host.host.credctl("account", "default", "end-session", "x")
    expect(wrong.status == 64 && wrong.errors.contains("'sessions' lists them"), "\(wrong)")
    expect(try host.host.credctl("account", "default", "end-session").status, equals: 64)
    _ = try host.host.credentials(refresh: true)
  }

  /// At the pool's limit, the sign-in that was used last stays.
  @Test func anEvictedSessionIsSaidToHaveEndedElsewhere() throws {
    let host = try UserPoolHost()
    try host.pool(#"{"UserSessionTracking":"ENABLED","TokenSession":{"MaxPerUser":1}}"#)
    try host.signIn()
    try signInElsewhere(host.host)
    let reply = try host.ask(#"{"refresh":true,"wait":5}"#)
    expect(reply.errorCode, equals: "SignInRequired", "\(reply)")
    expect(reply.errorMessage?.contains("the pool's limit of sessions") == true, "\(reply)")
    expect(try host.host.state(), equals: "tokensInvalid")
  }

  @Test func theBrowserIsSignedOutWithTheSession() throws {
    let host = try ProviderHost(hostedUI: "")
    try host.host.sandbox.control("POST", "user-pool", #"{"UserSessionTracking":"ENABLED"}"#)
    func isSignedIn() throws -> Bool {
      try host.host.sandbox.control("POST", "user-pool/hosted", "{}")["SignedInAs"]?.text != nil
    }
    expect(try host.signIn().state, equals: "signedIn")
    expect(try host.host.credctl("logout").status, equals: 0)
    try Deadline.usual.wait(for: "the revocation") {
      try host.host.sandbox.calls("cognito-idp.RevokeToken") == 1
    }
    expect(try isSignedIn())
    expect(try host.signIn().state, equals: "signedIn")
    let signedOut = try host.host.credctl("logout", "--sso")
    expect(signedOut.status == 0 && signedOut.output.hasPrefix("default signedOut"), "\(signedOut)")
    try Deadline.usual.wait(for: "the browser's end") { try !isSignedIn() }
    expect(try host.host.credctl("logout", "--sso", "--no-revoke").status, equals: 64)
  }

  @Test func otherBackendsHaveNoSessionOfABrowser() throws {
    let host = try TestHost()
    _ = try host.credentials()
    let refused = try host.credctl("logout", "--sso")
    expect(refused.status == 64 && refused.errors.contains("user pools"), "\(refused)")
    expect(try host.state(), equals: "signedIn")
  }

  /// Both count at the pool: the file is enough, without a reload.
  @Test func aClientsSecretIsReplacedWithoutAPause() throws {
    let (old, new) = (
      "sandboxclientsecret012345678901234567890abcdefghijk", String(repeating: "newer_", count: 6)
    )
    let client = "2sandboxclient234567890abc"
    let file = try Stage.current().newFile("secret")
    try Data((old + "\n").utf8).write(to: URL(filePath: file))
    let host = try TestHost {
      Configuration.userPool($0, backend: "client_secret_file = \(file)")
        .replacing(UserPoolHost.client, with: client)
    }
    func secrets(_ list: String...) throws {
      let names = list.map { "\"\($0)\"" }.joined(separator: ",")
      try host.sandbox.control(
        "POST", "user-pool/client", #"{"ClientId":"\#(client)","ClientSecrets":[\#(names)]}"#)
    }
    expect(try host.logIn("alice", password: "Sandbox-1").state, equals: "signedIn")
    try secrets(old, new)
    _ = try host.credentials(refresh: true)
    try Data((new + "\n").utf8).write(to: URL(filePath: file))
    _ = try host.credentials(refresh: true)
    try secrets(new)
    _ = try host.credentials(refresh: true)
    expect(try host.logIn("alice", password: "Sandbox-1").state, equals: "signedIn")
    expect(!host.log.contains(new) && !host.log.contains(old))
  }
}

extension Sandbox {
  /// Calls an operation of a user pool as any program may.
  fileprivate func userPool(_ operation: String, _ body: String) throws -> JSON {
    let socket = try StreamSocket(port: port)
    try socket.send(
      "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        + "Content-Type: application/x-amz-json-1.1\r\n"
        + "X-Amz-Target: AWSCognitoIdentityProviderService.\(operation)\r\n"
        + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    let answer = String(decoding: try socket.rest(), as: UTF8.self)
    let end = try #require(answer.range(of: "\r\n\r\n"), "\(answer)")
    return try JSON(String(answer[end.upperBound...]))
  }
}
