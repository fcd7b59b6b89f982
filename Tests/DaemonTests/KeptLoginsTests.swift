import TestSupport
import Testing

@testable import DaemonHarness

/// What one user's logins take of the daemon's memory.
@Suite(.onStage)
struct KeptLoginsTests {
  @Test func aUsersLoginsTakeBoundedMemory() throws {
    let limit = 8
    let host = try TestHost { sandbox in
      Configuration.http(url: sandbox.url + "/token")
        + (0...limit).map { Configuration.profile("p\($0)", endpoint: sandbox.url) }.joined()
    }
    let token = try host.ask(#"{"op":"token","profile":"p0"}"#)
    let identity = try #require(token["IdentityId"]?.text)
    let bearer = try #require(token["Token"]?.text)
    // A backend that does not look at logins.
    try host.sandbox.plan(
      #"{"Service":"backend","Kind":"malformed","Count":-1,"Body":"{\"IdentityId\":\"\#(identity)\","#
        + #"\"Token\":\"\#(bearer)\"}"}"#)
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
}
