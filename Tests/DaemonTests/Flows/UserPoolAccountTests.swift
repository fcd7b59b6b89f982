import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// `account` at the sandbox's user pool, through the real daemon, and attacks on it.
@Suite(.onStage)
struct UserPoolAccountTests {
  private static let all =
    "account_actions = sign-up confirm resend forgot-password reset-password get change-password "
    + "set-attributes verify-attribute delete-attributes mfa totp devices remember-device "
    + "forget-device delete"

  private func act(_ host: UserPoolHost, _ members: String) throws -> JSON {
    try host.ask(#"{"op":"account","action":\#(members)}"#)
  }

  // MARK: Attacks

  /// A program of the user's finds a session: it gets credentials, and not the account.
  @Test func nobodyGetsFromCredentialsToTheAccount() throws {
    let host = try UserPoolHost(profile: "vend_tokens = id access")
    try host.signIn()
    _ = try host.host.credentials()
    for members in [
      #""set-attributes","attributes":{"email":"evil@example.com"}"#, #""delete""#, #""totp""#,
      #""mfa","enabled":[]"#, #""delete-attributes","names":["email"]"#,
    ] { expect(try act(host, members).errorCode, equals: "AccessDenied") }
    expect(try host.ask(#"{"op":"token","kind":"access"}"#).errorCode, equals: "AccessDenied")
    for operation in ["UpdateUserAttributes", "DeleteUser", "AssociateSoftwareToken"] {
      expect(try host.calls(operation), equals: 0)
    }
  }

  @Test func nobodyLearnsWhoHasAnAccount() throws {
    for hides in [true, false] {
      let host = try UserPoolHost(Self.all)
      try host.client(#""PreventUserExistenceErrors":\#(hides)"#)
      // The limit of a user allows five such actions.
      let other = try UserPoolHost(Self.all)
      try other.client(#""PreventUserExistenceErrors":\#(hides)"#)
      func same(at host: UserPoolHost, _ line: (String) -> String) throws {
        let replies = try ["alice", "nobody"].map { name in
          let reply = try host.ask(line(name))
          expect(reply["Delivery"] == nil, "\(reply)")
          return [reply.errorCode, reply["Error"]?["Reason"]?.text, reply.errorMessage]
        }
        expect(replies[0], equals: replies[1], "hides \(hides)")
      }
      try same(at: host) { #"{"op":"login","username":"\#($0)","password":"Wrong-pass1"}"# }
      try same(at: host) {
        #"{"op":"account","action":"reset-password","username":"\#($0)","code":"123456","#
          + #""password":"Another-1"}"#
      }
      try same(at: host) {
        #"{"op":"account","action":"confirm","username":"\#($0)","code":"123456"}"#
      }
      try same(at: other) { #"{"op":"account","action":"forgot-password","username":"\#($0)"}"# }
      try same(at: other) { #"{"op":"account","action":"resend","username":"\#($0)"}"# }
    }
  }
}
