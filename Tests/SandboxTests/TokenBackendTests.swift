import TestSupport
import Testing

@testable import SandboxKit

struct TokenBackendTests {
  static func callback(_ user: String, _ changes: [String: JSON] = [:]) -> JSON {
    let usual: [String: JSON] = [
      "IdentityPoolId": .string(TestSandbox.pool),
      "DeveloperProviderName": .string(TestSandbox.provider),
      "DeveloperUserIdentifier": .string(user),
    ]
    return .object(usual.merging(changes) { $1 })
  }

  @Test func postAndGetAgree() throws {
    var test = try TestSandbox()
    let posted = test.send("POST", "/token", Self.callback("alice")).json
    expect(posted?["IdentityId"]?.text, equals: test.token("alice").identity)
    expect(posted?["IdentityPoolId"]?.text, equals: TestSandbox.pool)
  }

  @Test func usersAreKnownOrNot() throws {
    var test = try TestSandbox()
    expect(test.send("GET", "/token/mallory").status, equals: 404)
    var open = try TestSandbox { $0.allowsAnyUser = true }
    expect(open.send("GET", "/token/mallory%20jr").status, equals: 200)
  }

  @Test func aDisabledUserIsForbidden() throws {
    var test = try TestSandbox()
    expect(
      test.send("POST", "/control/user", ["Name": "alice", "Disabled": true]).status, equals: 200)
    expect(test.send("GET", "/token/alice").status, equals: 403)
    expect(test.send("GET", "/token/bob").status, equals: 200)
  }

  @Test(
    arguments: [
      ([:], "Extra is not a known field", ["Extra": 1]),
      (["IdentityPoolId": 1], "IdentityPoolId must be a non-empty string", [:]),
      (["IdentityPoolId": "us-east-1:0"], "IdentityPoolId is not a pool of this backend", [:]),
      (["DeveloperUserIdentifier": .null], "DeveloperUserIdentifier is required", [:]),
      (
        ["DeveloperProviderName": "x"], "DeveloperProviderName is not the provider of the pool", [:]
      ),
      (["Logins": ["a": 1]], "Logins.a must be a string", [:]),
    ] as [([String: JSON], String, [String: JSON])])
  func namesTheBadField(
    _ changes: [String: JSON], _ message: String, _ additions: [String: JSON]
  ) throws {
    var test = try TestSandbox()
    let body = Self.callback("alice", changes.merging(additions) { $1 })
    let reply = test.send("POST", "/token", body)
    expect(reply.status, equals: 400)
    expect(reply.json?["Message"]?.text, equals: message)
  }

  @Test func sessions() throws {
    var test = try TestSandbox { $0.requiresSession = true }
    expect(test.send("GET", "/token/alice").status, equals: 401)
    let wrong: JSON = ["Username": "alice", "Password": "x"]
    expect(test.send("POST", "/login", wrong).status, equals: 401)
    let right: JSON = ["Username": "alice", "Password": "alice-password"]
    let session = try #require(test.send("POST", "/login", right).json?["SessionToken"]?.text)
    expect(test.send("GET", "/token/alice", bearer: session).status, equals: 200)
    expect(test.send("GET", "/token/bob", bearer: session).status, equals: 403)
    expect(test.send("POST", "/logout", bearer: session).status, equals: 200)
    expect(test.send("GET", "/token/alice", bearer: session).status, equals: 401)
    expect(test.send("POST", "/logout", bearer: session).status, equals: 401)
  }

  @Test func revokedSessions() throws {
    var test = try TestSandbox { $0.requiresSession = true }
    let right: JSON = ["Username": "alice", "Password": "alice-password"]
    let session = try #require(test.send("POST", "/login", right).json?["SessionToken"]?.text)
    expect(test.send("POST", "/control/revoke", ["User": "alice"]).json?["Sessions"], equals: 1)
    expect(test.send("GET", "/token/alice", bearer: session).status, equals: 401)
  }

  @Test func theBackendsOwnToken() throws {
    var test = try TestSandbox { $0.backendToken = "s3cret" }
    expect(test.send("GET", "/token/alice").status, equals: 401)
    expect(test.send("GET", "/token/alice", bearer: "other").status, equals: 401)
    expect(
      test.send("GET", "/token/alice", bearer: "other").json?["Code"]?.text,
      equals: "HostNotAuthorized")
    expect(test.send("GET", "/token/alice", bearer: "s3cret").status, equals: 200)
    // A sign-in is the host's to ask for, too.
    let right: JSON = ["Username": "alice", "Password": "alice-password"]
    expect(test.send("POST", "/login", right).json?["Code"]?.text, equals: "HostNotAuthorized")
  }

  @Test func theCallerIsReadStrictly() throws {
    var test = try TestSandbox()
    let good: JSON = ["User": "alice", "Uid": 1000, "Unit": "a.service", "Purpose": "x y"]
    expect(
      test.send("POST", "/token", Self.callback("alice", ["Caller": good])).status, equals: 200)
    for bad in [["User": "alice"], ["Uid": 1, "Pid": 2], ["Uid": "1"]] as [JSON] {
      expect(
        test.send("POST", "/token", Self.callback("alice", ["Caller": bad])).status, equals: 400)
    }
  }

  @Test func linksPublicLogins() throws {
    var test = try TestSandbox()
    let google = "accounts.google.com"
    let logins: JSON = .object([google: .string(test.social(google, "s"))])
    let reply = test.send("POST", "/token", Self.callback("alice", ["Logins": logins]))
    expect(reply.status, equals: 200)
    _ = test.token("bob")
    let other = test.send("POST", "/token", Self.callback("bob", ["Logins": logins]))
    expect(other.status, equals: 409)
    expect(other.json?["Code"]?.text, equals: "ResourceConflictException")
  }

  @Test func anotherUsersIdentityIsAConflict() throws {
    var test = try TestSandbox()
    let bob = JSON.string(test.token("bob").identity)
    _ = test.token("alice")
    let reply = test.send("POST", "/token", Self.callback("alice", ["IdentityId": bob]))
    expect(reply.status, equals: 409)
    expect(reply.json?["Code"]?.text, equals: "DeveloperUserAlreadyRegisteredException")
  }
}
