import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// What one user's logins take of the daemon's memory.
@Suite(.onStage)
struct KeptLoginsTests {
  @Test func aUsersLoginsTakeBoundedMemory() throws {
    let limit = 8
    let host = try TestHost { sandbox in
      (0...limit).map { Configuration.direct(sandbox, "p\($0)") }.joined()
    }
    // A Cognito that takes all logins. They are the sign-in, so the sessions keep them.
    let end = try #require(
      ISO8601DateFormatter().date(from: try signedIn(host)["Expiration"]?.text ?? ""))
    let body: [String: Any] = [
      "IdentityId": "us-east-1:00000000-1111-2222-3333-444444444444",
      "Credentials": [
        "AccessKeyId": "ASIAEXAMPLEEXAMPLE00", "SecretKey": "secret", "SessionToken": "session",
        "Expiration": Int(end.timeIntervalSince1970),
      ],
    ]
    let text = String(decoding: try JSONSerialization.data(withJSONObject: body), as: UTF8.self)
    let plan: [String: Any] = [
      "Service": "cognito", "Kind": "malformed", "Count": -1, "Body": text,
    ]
    try host.sandbox.plan(
      String(decoding: try JSONSerialization.data(withJSONObject: plan), as: UTF8.self))
    let logins = (0..<10).map {
      #""login\#($0).example.com":"\#(String(repeating: "t", count: 50_000))""#
    }
    .joined(separator: ",")
    func logIn(_ number: Int) throws -> JSON {
      try host.answer {
        try host.ask(#"{"op":"login","profile":"p\#(number)","logins":{\#(logins)}}"#)
      }
    }
    for number in 0..<limit { expect(try logIn(number)["State"]?.text, equals: "signedIn") }
    // The next one finds room once another has gone.
    let refused = try logIn(limit)
    expect(refused.errorCode, equals: "TooManyRequests")
    expect(refused.errorMessage?.contains("bytes of logins") == true)
    _ = try host.ask(#"{"op":"logout","profile":"p0"}"#)
    expect(try logIn(limit)["State"]?.text, equals: "signedIn")
    // Again in the same session, which replaces its own.
    expect(try logIn(limit)["State"]?.text, equals: "signedIn")
  }

  /// What a real login gets.
  private func signedIn(_ host: TestHost) throws -> JSON {
    let token = try host.sandbox.token(of: LoginsTests.google, "g1")
    _ = try host.logIn([LoginsTests.google: token], profile: "p0")
    let credentials = try host.ask(#"{"profile":"p0"}"#)
    // Beside this login there would be no place for ten.
    _ = try host.ask(#"{"op":"logout","profile":"p0"}"#)
    return credentials
  }
}
