import FoundationEssentials
import TestSupport
import Testing

@testable import SandboxKit

struct ScopedCredentialTests {
  static let policy = Self.allowing("s3:GetObject", "arn:aws:s3:::bucket/reports/*")

  static func allowing(_ action: String, _ resource: String) -> String {
    #"{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"\#(action)","#
      + #""Resource":"\#(resource)"}}"#
  }

  @Test func theSameSessionMayDoLess() throws {
    var test = try TestSandbox()
    let wide = test.key()
    let reply = test.sts("GetScopedCredentials", ["Policy": Self.policy], by: wide)
    expect(reply.status, equals: 200)
    expect(reply.element("ScopedPoliciesCount"), equals: "1")
    expect(reply.element("Expiration"), equals: "2015-09-22T19:08:03Z")
    let arn =
      "arn:aws:sts::123456789012:assumed-role/credd-authenticated/CognitoIdentityCredentials"
    expect(reply.element("Arn"), equals: arn)
    let narrow = reply.key
    expect(test.sts("GetCallerIdentity", [:], by: narrow).element("Arn"), equals: arn)
    for resource in ["arn:aws:s3:::bucket/reports/1", "arn:aws:s3:::bucket/secrets/1"] {
      expect(test.may("s3:GetObject", resource, by: wide), equals: true)
    }
    expect(test.may("s3:GetObject", "arn:aws:s3:::bucket/reports/1", by: narrow), equals: true)
    expect(test.may("s3:GetObject", "arn:aws:s3:::bucket/secrets/1", by: narrow), equals: false)
    expect(test.may("s3:PutObject", "arn:aws:s3:::bucket/reports/1", by: narrow), equals: false)
  }

  @Test func objectsAreGivenByAllPolicies() throws {
    var test = try TestSandbox()
    let wide = test.key()
    let narrow = test.sts("GetScopedCredentials", ["Policy": Self.policy], by: wide).key
    expect(test.s3("PUT", "/bucket/reports/1", "one", by: wide).status, equals: 200)
    expect(test.s3("PUT", "/bucket/secrets/1", "two", by: wide).status, equals: 200)
    expect(test.s3("GET", "/bucket/reports/1", by: narrow).text, equals: "one")
    expect(test.s3("GET", "/bucket/secrets/1", by: narrow).xmlError, equals: "403 AccessDenied")
    expect(
      test.s3("PUT", "/bucket/reports/1", "x", by: narrow).xmlError, equals: "403 AccessDenied")
    expect(
      test.s3("GET", "/bucket?list-type=2&prefix=reports%2F", by: narrow).xmlError,
      equals: "403 AccessDenied")
    let list = test.s3("GET", "/bucket?list-type=2&prefix=reports%2F", by: wide)
    expect(list.element("Key"), equals: "reports/1")
    expect(list.element("KeyCount"), equals: "1")
    expect(test.s3("GET", "/bucket/reports/2", by: narrow).xmlError, equals: "404 NoSuchKey")
    expect(test.s3("DELETE", "/bucket/reports/1", by: wide).xmlError, equals: "501 NotImplemented")
  }

  @Test func itsLifeIsNoLongerThanItsSources() throws {
    var test = try TestSandbox()
    let wide = test.key()
    let short = test.sts("GetScopedCredentials", ["DurationSeconds": "900"], by: wide)
    expect(short.element("Expiration"), equals: "2015-09-22T18:23:03Z")
    expect(short.element("ScopedPoliciesCount"), equals: "0")
    expect(
      test.sts("GetScopedCredentials", ["DurationSeconds": "3601"], by: wide).xmlError,
      equals: "400 InsufficientSessionLifetime")
    test.now += 900
    expect(test.sts("GetCallerIdentity", [:], by: short.key).xmlError, equals: "403 ExpiredToken")
  }

  @Test func threePoliciesAreTheLimitAndTheTokenHasOneToo() throws {
    var test = try TestSandbox()
    var key = test.key()
    for count in 1...3 {
      let everything = Self.allowing("*", "*")
      let reply = test.sts("GetScopedCredentials", ["Policy": everything], by: key)
      expect(reply.element("ScopedPoliciesCount"), equals: String(count))
      key = reply.key
    }
    expect(
      test.sts("GetScopedCredentials", ["Policy": Self.allowing("*", "*")], by: key).xmlError,
      equals: "403 AccessDenied")
    // A call without a policy adds none.
    let again = test.sts("GetScopedCredentials", ["DurationSeconds": "60"], by: key)
    expect(again.element("ScopedPoliciesCount"), equals: "3")

    let long = Self.allowing("*", "*\",\"arn:aws:s3:::" + String(repeating: "x", count: 1800))
      .replacing(#""Resource":"*","arn"#, with: #""Resource":["*","arn"#)
      .replacing(#"x"}}"#, with: #"x"]}}"#)
    var packed = test.key()
    for _ in 1...2 {
      let reply = test.sts("GetScopedCredentials", ["Policy": long], by: packed)
      expect(reply.status, equals: 200)
      packed = reply.key
    }
    expect(
      test.sts("GetScopedCredentials", ["Policy": long], by: packed).xmlError,
      equals: "400 PackedPolicyTooLarge")
  }

  @Test func thePermissionMayBeWantedOrNot() throws {
    var test = try TestSandbox()
    let guest = test.key(isGuest: true)
    let narrow = test.sts("GetScopedCredentials", ["Policy": Self.policy], by: test.key()).key
    for key in [guest, narrow] {
      let reply = test.sts("GetScopedCredentials", ["DurationSeconds": "60"], by: key)
      expect(reply.xmlError, equals: "403 AccessDenied")
      expect(reply.text.contains("is not authorized to perform: sts:GetScopedCredentials"))
    }
    _ = test.send("POST", "/control/sts", ["ScopedCredentialsPermission": false])
    for key in [guest, narrow] {
      expect(
        test.sts("GetScopedCredentials", ["DurationSeconds": "60"], by: key).status, equals: 200)
    }
    expect(test.may("s3:GetObject", "arn:aws:s3:::bucket/reports/1", by: guest), equals: false)
  }

  @Test(
    arguments: [
      ([:], "400 ValidationError"), (["DurationSeconds": "0"], "400 ValidationError"),
      (["DurationSeconds": "129601"], "400 ValidationError"),
      (["Policy": "{"], "400 MalformedPolicyDocument"), (["Policy": ""], "400 ValidationError"),
      (["Policy": Self.policy + "\u{100}"], "400 ValidationError"),
      (
        ["Policy": Self.policy, "PolicyArns.member.1.arn": "arn:aws:iam::aws:policy/X"],
        "400 ValidationError"
      ),
      (["Policy": Self.policy, "ScopedSessionDescription": "a"], "400 ValidationError"),
      (["Policy": Self.policy, "ScopedSessionDescription": "a\u{A0}b"], "400 ValidationError"),
    ] as [([String: String], String)])
  func refuses(_ parameters: [String: String], _ error: String) throws {
    var test = try TestSandbox()
    let key = test.key()
    expect(test.sts("GetScopedCredentials", parameters, by: key).xmlError, equals: error)
  }

  @Test func refusesWhoDidNotSign() throws {
    var test = try TestSandbox()
    let key = test.key()
    let other = HeldKey(id: key.id, secret: key.secret, token: key.token + "x")
    expect(
      test.sts("GetCallerIdentity", [:], by: other).xmlError, equals: "403 InvalidClientTokenId")
    let wrong = HeldKey(id: key.id, secret: key.secret + "x", token: key.token)
    expect(
      test.sts("GetCallerIdentity", [:], by: wrong).xmlError, equals: "403 SignatureDoesNotMatch")
    let body = Array("Action=GetCallerIdentity&Version=2011-06-15".utf8)
    expect(
      test.answer(HTTPRequest(method: "POST", target: "/", body: body)).reply.xmlError,
      equals: "403 MissingAuthenticationToken")
  }

  @Test(arguments: ["sameKey", "unscoped", "otherSession", "endsLate", "endsPast"])
  func liesAsItIsTold(_ lie: String) throws {
    var test = try TestSandbox()
    let wide = test.key()
    test.plan(["Service": "sts", "Operation": "GetScopedCredentials", "Kind": .string(lie)])
    let reply = test.sts("GetScopedCredentials", ["Policy": Self.policy], by: wide)
    expect(reply.key.id == wide.id, equals: lie == "sameKey")
    expect(reply.element("ScopedPoliciesCount"), equals: lie == "unscoped" ? "0" : "1")
    expect(
      reply.element("Arn")?.hasSuffix("/CognitoIdentityCredentials"), equals: lie != "otherSession")
    let end =
      switch lie {
      case "endsLate": "2015-09-22T21:08:03Z"
      case "endsPast": "2015-09-22T18:07:03Z"
      default: "2015-09-22T19:08:03Z"
      }
    expect(reply.element("Expiration"), equals: end)
    // It can do what it can do, whatever the reply says.
    expect(
      test.may("s3:PutObject", "arn:aws:s3:::bucket/reports/1", by: reply.key),
      equals: lie == "sameKey" || lie == "unscoped")
  }
}
