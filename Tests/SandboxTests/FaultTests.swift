import FoundationEssentials
import TestSupport
import Testing

@testable import SandboxKit

struct FaultTests {
  static let token = HTTPRequest(method: "GET", target: "/token/alice")

  @Test func hitsSoManyCallsAndNoMore() throws {
    var test = try TestSandbox()
    test.plan(["Service": "backend", "Kind": "status", "Status": 503, "Count": 2])
    expect(test.answer(Self.token).reply.status, equals: 503)
    expect(test.answer(Self.token).reply.status, equals: 503)
    expect(test.answer(Self.token).reply.status, equals: 200)
  }

  @Test func hitsUntilItIsCleared() throws {
    var test = try TestSandbox()
    test.plan(["Service": "backend", "Kind": "status", "Count": -1])
    for _ in 0..<5 { expect(test.answer(Self.token).reply.status, equals: 500) }
    expect(test.send("DELETE", "/control/fault").status, equals: 200)
    expect(test.answer(Self.token).reply.status, equals: 200)
  }

  @Test func hitsOneOperationAlone() throws {
    var test = try TestSandbox()
    test.plan(["Service": "backend", "Operation": "login", "Kind": "status"])
    expect(test.answer(Self.token).reply.status, equals: 200)
    expect(test.send("POST", "/login", [:]).status, equals: 500)
  }

  @Test func throttlesInEachServicesWay() throws {
    var test = try TestSandbox()
    for service in ["backend", "cognito", "sts", "sample"] {
      test.plan(["Service": .string(service), "Kind": "throttle", "RetryAfter": 7])
    }
    let backend = test.answer(Self.token).reply
    expect(backend.status, equals: 429)
    expect(backend.header("Retry-After"), equals: "7")
    let cognito = test.cognito("GetId", [:])
    expect(cognito.status, equals: 400)
    expect(cognito.cognitoError, equals: "TooManyRequestsException: Rate exceeded")
    expect(test.sts([:]).text.contains("<Code>Throttling</Code>"))
    expect(test.send("GET", "/sample/login").status, equals: 429)
  }

  @Test func errorsOfCognitosOwn() throws {
    var test = try TestSandbox()
    test.plan(["Service": "cognito", "Kind": "status", "Error": "InternalErrorException"])
    let reply = test.cognito("GetId", [:])
    expect(reply.status, equals: 500)
    expect(reply.json?["__type"]?.text, equals: "InternalErrorException")
  }

  @Test(arguments: [
    ("reset", Answer.Delivery.reset), ("hang", .never), ("truncate", .truncated),
    ("delay", .whole),
  ])
  func deliveries(_ kind: String, _ delivery: Answer.Delivery) throws {
    var test = try TestSandbox()
    test.plan(["Service": "backend", "Kind": .string(kind), "Seconds": .number(0.5)])
    let answer = test.answer(Self.token)
    expect(answer.delivery, equals: delivery)
    expect(answer.delay, equals: 0.5)
    expect(answer.reply.body.isEmpty, equals: (delivery == .reset || delivery == .never))
  }

  @Test func replacedBodies() throws {
    var test = try TestSandbox()
    for kind in ["malformed", "html", "oversize", "redirect"] {
      test.plan(["Service": "backend", "Kind": .string(kind), "Location": "http://x.example/"])
    }
    expect(test.answer(Self.token).reply.json == nil)
    expect(test.answer(Self.token).reply.header("Content-Type"), equals: "text/html")
    expect(test.answer(Self.token).reply.body.count > 8 << 20)
    let redirect = test.answer(Self.token).reply
    expect(redirect.status, equals: 302)
    expect(redirect.header("Location"), equals: "http://x.example/")
  }

  @Test func expiredTokens() throws {
    var test = try TestSandbox()
    test.plan(["Service": "backend", "Kind": "expiredToken"])
    let (identity, token) = test.token()
    let reply = test.credentials(identity, TestSandbox.cognito, token)
    expect(reply.cognitoError.contains("Invalid login token. Token expired: "))
    test.plan(["Service": "cognito", "Kind": "expiredToken"])
    let good = test.token().token
    expect(
      test.credentials(identity, TestSandbox.cognito, good).cognitoError,
      equals: "NotAuthorizedException: Invalid login token. Token expired: 1442945283 >= 1442945223"
    )
    expect(test.credentials(identity, TestSandbox.cognito, good).status, equals: 200)
  }

  @Test func changedIdentities() throws {
    var test = try TestSandbox()
    let first = test.token()
    test.plan(["Service": "backend", "Kind": "changedIdentity"])
    let second = test.token()
    expect(first.identity != second.identity)
    expect(test.token().identity, equals: second.identity)
    expect(test.credentials(first.identity, TestSandbox.cognito, first.token).status, equals: 400)
    test.plan(["Service": "cognito", "Kind": "changedIdentity"])
    let reply = test.credentials(second.identity, TestSandbox.cognito, second.token)
    expect(reply.status, equals: 200)
    expect(reply.json?["IdentityId"]?.text != second.identity)
    expect(test.token().identity, equals: reply.json?["IdentityId"]?.text)
  }

  @Test func wrongPools() throws {
    var test = try TestSandbox()
    test.plan([
      "Service": "backend",
      "Kind": "wrongPool",
    ])
    let pool = test.answer(Self.token).reply.json?["IdentityPoolId"]?.text
    expect(pool, equals: "us-east-1:99999999-9999-4999-8999-999999999999")
  }

  @Test func skewedClocks() throws {
    var test = try TestSandbox()
    test.plan(["Service": "backend", "Kind": "dateSkew", "Seconds": -3600])
    let answer = test.answer(Self.token)
    expect(answer.date, equals: test.now - 3600)
    expect(answer.delay, equals: 0)
    let token = answer.reply.json?["Token"]?.text ?? ""
    expect(try TokenIssuer.claims(in: token)["iat"]?.integer, equals: 1_442_941_683)
  }

  @Test(
    arguments: [
      (["Kind": "reset"], "Service is required"),
      (
        ["Service": "backend", "Kind": "melt"],
        """
        Kind must be one of delay, hang, status, throttle, reset, truncate, oversize, malformed, html, \
        redirect, dateSkew, expiredToken, changedIdentity, wrongPool, sameKey, unscoped, otherSession, \
        endsLate, endsPast
        """
      ),
      (["Service": "backend", "Kind": "reset", "Count": 0], "Count must not be 0"),
      (
        ["Service": "backend", "Kind": "delay", "Seconds": -1], "Seconds must not be negative"
      ),
      (
        ["Service": "backend", "Kind": "status", "Status": 99],
        "Status must be an integer from 200 to 599"
      ),
      (["Service": "backend", "Kind": "reset", "Cuont": 2], "Cuont is not a known field"),
    ] as [(JSON, String)])
  func namesTheBadField(_ fault: JSON, _ message: String) throws {
    var test = try TestSandbox()
    let reply = test.send("POST", "/control/fault", fault)
    expect(reply.status, equals: 400)
    expect(reply.json?["Message"]?.text, equals: message)
  }
}
