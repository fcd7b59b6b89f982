import FoundationEssentials
import SeededRandom
import TestSupport
import Testing

@testable import SandboxKit

struct ControlTests {
  @Test func countsCalls() throws {
    var test = try TestSandbox()
    _ = test.token()
    _ = test.token()
    _ = test.cognito("GetId", [:])
    let stats = test.send("GET", "/control/stats").json
    expect(stats?["Calls"], equals: ["backend.token": 2, "cognito.GetId": 1])
    expect(test.send("POST", "/control/reset-stats").status, equals: 200)
    expect(test.send("GET", "/control/stats").json?["Calls"], equals: [:])
  }

  @Test func countsWhatIsUnderWay() throws {
    var sandbox = try TestSandbox().sandbox
    let now = Date(timeIntervalSince1970: 0)
    let request = HTTPRequest(method: "GET", target: "/token/alice")
    let first = sandbox.answer(request, at: now)
    let second = sandbox.answer(request, at: now)
    sandbox.ended(first)
    sandbox.ended(second)
    let third = sandbox.answer(request, at: now)
    let stats = sandbox.answer(HTTPRequest(method: "GET", target: "/control/stats"), at: now)
    expect(stats.reply.json?["MaximumInFlight"], equals: 2)
    expect(stats.reply.json?["InFlight"], equals: 1)
    sandbox.ended(stats)
    sandbox.ended(third)
    expect(sandbox.counters.inFlight, equals: 0)
  }

  @Test func showsTheLastRequest() throws {
    var test = try TestSandbox()
    expect(test.send("GET", "/control/last?Operation=GetId").status, equals: 404)
    _ = test.cognito("GetId", ["IdentityPoolId": "x"])
    let last = test.send("GET", "/control/last?Operation=cognito.GetId").json
    expect(last?["Body"]?.text, equals: "{\"IdentityPoolId\":\"x\"}")
    expect(last?["Headers"]?["X-Amz-Target"]?.text, equals: "AWSCognitoIdentityService.GetId")
  }

  @Test func lifetimes() throws {
    var test = try TestSandbox()
    expect(
      test.send("POST", "/control/lifetimes", ["Credentials": 60, "Tokens": 5]).status, equals: 200)
    let (identity, token) = test.token()
    let reply = test.credentials(identity, TestSandbox.cognito, token)
    expect(reply.json?["Credentials"]?["Expiration"]?.number, equals: 1_442_945_343)
    expect(try TokenIssuer.claims(in: token)["exp"]?.integer, equals: 1_442_945_288)
  }

  @Test func revokesOneThingAtATime() throws {
    var test = try TestSandbox()
    let reply = test.send("POST", "/control/revoke", ["User": "alice", "All": true])
    expect(
      reply.json?["Message"]?.text,
      equals: "body must name one of IdentityId, User, Session, Token, All")
  }

  @Test func unknownPaths() throws {
    var test = try TestSandbox()
    expect(test.send("GET", "/control/nonsense").status, equals: 404)
    expect(test.send("GET", "/").status, equals: 404)
    expect(test.send("GET", "/nonsense").status, equals: 404)
  }

  @Test func saysToWhomCredentialsAndTokensWereGiven() throws {
    let others = "us-west-2:99999999-2222-3333-4444-555555555555"
    var test = try TestSandbox { seed in
      var pool = SandboxSeed.Pool(id: others, developerProvider: "login.other.app")
      pool.authenticatedRole = TestSandbox.role
      seed.pools.append(pool)
    }
    func issued(_ query: String) -> JSON? { test.send("GET", "/control/issued?\(query)").json }
    let (identity, token) = test.token()
    let reply = test.credentials(identity, TestSandbox.cognito, token)
    let key = reply.json?["Credentials"]?["AccessKeyId"]?.text ?? ""
    let logins: JSON = .object([TestSandbox.provider: ["alice"]])
    expect(issued("AccessKeyId=\(key)")?["Pool"]?.text, equals: TestSandbox.pool)
    expect(issued("AccessKeyId=\(key)")?["Logins"], equals: logins)
    expect(issued("AccessKeyId=\(key)")?["RoleSessionName"] == nil)
    let other = test.credentials(identity, TestSandbox.cognito, token).json?["Credentials"]
    for (secrets, code) in [(reply.json?["Credentials"], nil), (other, "Mixed")] {
      let whole: JSON = [
        "AccessKeyId": .string(key), "SecretAccessKey": secrets?["SecretKey"] ?? .null,
        "SessionToken": secrets?["SessionToken"] ?? .null,
      ]
      let judged = test.send("POST", "/control/issued", whole).json
      expect(judged?["Code"]?.text, equals: code)
      expect(judged?["Pool"]?.text, equals: (code == nil ? TestSandbox.pool : nil))
    }
    expect(issued("Token=\(token)")?["IdentityId"]?.text, equals: identity)
    expect(issued("Token=\(token)")?["Pool"]?.text, equals: TestSandbox.pool)
    expect(issued("Token=\(token)")?["Logins"], equals: logins)
    let elsewhere = test.send("GET", "/token/alice?pool=\(others)").json?["Token"]?.text ?? ""
    expect(issued("Token=\(elsewhere)")?["Pool"]?.text, equals: others)
    expect(issued("Token=\(elsewhere)")?["Logins"], equals: .object(["login.other.app": ["alice"]]))
    let assumed = test.sts([
      "RoleArn": TestSandbox.role, "RoleSessionName": "alice@host", "WebIdentityToken": token,
    ])
    let text = String(decoding: assumed.body, as: UTF8.self)
    let assumedKey = text.split(separator: "AccessKeyId>").dropFirst().first?.prefix { $0 != "<" }
    expect(
      issued("AccessKeyId=\(assumedKey ?? "")")?["RoleSessionName"]?.text, equals: "alice@host")
    expect(issued("AccessKeyId=\(assumedKey ?? "")")?["Logins"], equals: logins)
    expect(issued("Token=nonsense")?["Code"]?.text, equals: "NotFound")
    expect(issued("")?["Code"]?.text, equals: "InvalidRequest")
  }

  @Test func remembersTheLatestGrantsAlone() {
    var mint = CredentialMint()
    var random = SeededGenerator(seed: 1)
    mint.sessionTokenLength = 32
    let keys = (0...CredentialMint.maximumGrants).map { _ in
      mint.credentials(
        for: CredentialMint.Grant(
          pool: "p", identity: "i", logins: [], session: RoleSession(role: "r", name: "n"),
          expiration: Date(timeIntervalSince1970: 0)), random: &random
      ).accessKeyID
    }
    expect(mint.grant(of: keys[0]) == nil)
    expect(mint.grant(of: keys[1])?.identity, equals: "i")
    expect(mint.grant(of: keys[CredentialMint.maximumGrants])?.session.role, equals: "r")
  }
}
