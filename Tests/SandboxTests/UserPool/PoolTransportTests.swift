import FoundationEssentials
import TestSupport
import Testing

@testable import SandboxKit

/// Method, path, headers, limits, error spellings, faults and the control path.
struct PoolTransportTests {
  static let input: JSON = ["ClientId": .string(TestPool.client), "Username": "alice"]

  @Test func theFormOfARequestIsDemanded() throws {
    var pool = try TestPool()
    let good = TestPool.request("ForgotPassword", Self.input)
    expect(pool.test.answer(good).reply.status, equals: 200)
    for change in [
      { (request: inout HTTPRequest) in request.method = "PUT" },
      { $0.headers[0].value = "application/json" },
      { $0.headers[1].value = "AWSCognitoIdentityProviderService.AdminGetUser" },
      { $0.headers.append(HTTPField("Authorization", "AWS4-HMAC-SHA256 x")) },
      { $0.body = Array("[]".utf8) }, { $0.body = Array("{".utf8) },
    ] as [(inout HTTPRequest) -> Void] {
      var request = good
      change(&request)
      expect(pool.test.answer(request).reply.status >= 400)
    }
  }

  @Test(arguments: [
    ("plain", "InvalidParameterException", "InvalidParameterException:"),
    (
      "prefixed", "com.amazonaws.cognito.identity.idp#InvalidParameterException",
      "InvalidParameterException:"
    ),
    (
      "header", nil,
      "InvalidParameterException:http://internal.amazon.com/coral/com.amazonaws.cognito.identity.idp/"
    ), ("capital", "InvalidParameterException", "InvalidParameterException:"),
  ])
  func errorsAreSpeltInEveryWay(_ spelling: String, _ type: String?, _ header: String) throws {
    var pool = try TestPool(["ErrorSpelling": .string(spelling)])
    let reply = pool.start("USER_PASSWORD_AUTH", [:])
    expect(reply.status, equals: 400)
    expect(reply.json?["__type"]?.text, equals: type)
    expect(reply.header("x-amzn-ErrorType"), equals: header)
    expect(
      reply.json?[spelling == "capital" ? "Message" : "message"]?.text,
      equals: "Missing required parameter USERNAME")
  }

  @Test(arguments: [
    ("SignUp", "Username", "a b", "username"), ("SignUp", "Password", "a b", "password"),
    ("SignUp", "Username", String(repeating: "u", count: 129), "username"),
    ("SignUp", "Password", String(repeating: "p", count: 257), "password"),
    ("ConfirmSignUp", "ConfirmationCode", "12 34", "confirmationCode"),
    ("RevokeToken", "ClientSecret", "short", "clientSecret"),
    ("InitiateAuth", "ClientId", "with-hyphen", "clientId"),
    ("InitiateAuth", "Session", "short", "session"),
    ("GetTokensFromRefreshToken", "DeviceKey", "nokey", "deviceKey"),
    ("GetTokensFromRefreshToken", "RefreshToken", "with space", "refreshToken"),
  ])
  func limitsAreThoseOfTheServiceModel(
    _ operation: String, _ member: String, _ value: String, _ place: String
  ) throws {
    var pool = try TestPool()
    let reply = pool.call(operation, [member: .string(value)])
    expect(reply.cognitoError.hasPrefix("InvalidParameterException: "))
    expect(
      reply.cognitoError.contains("alue at '\(place)' failed to satisfy constraint")
        || reply.cognitoError.contains("' at '\(place)' failed to satisfy constraint"))
  }

  @Test func faultsAreThoseOfOtherServices() throws {
    var pool = try TestPool()
    pool.test.plan(["Service": "cognito-idp", "Operation": "GetUser", "Kind": "throttle"])
    let access = try pool.tokens().access
    expect(
      pool.call("GetUser", token: access).cognitoError,
      equals: "TooManyRequestsException: Rate exceeded")
    expect(pool.call("GetUser", token: access).status, equals: 200)
    pool.test.plan([
      "Service": "cognito-idp", "Kind": "status", "Error": "ForbiddenException", "Status": 403,
      "Message": "Request not allowed due to WAF block.",
    ])
    expect(pool.enter().status, equals: 403)
    pool.test.plan(["Service": "cognito-idp", "Kind": "expiredToken"])
    expect(
      pool.call("GetUser", token: access).cognitoError,
      equals: "NotAuthorizedException: Access Token has expired")
    pool.test.plan(["Service": "cognito-idp", "Kind": "dateSkew", "Seconds": 3600])
    expect(
      pool.call("GetUser", token: access).cognitoError,
      equals: "NotAuthorizedException: Access Token has expired")
    let refused: JSON = ["Service": "cognito-idp", "Kind": "changedIdentity"]
    expect(pool.test.send("POST", "/control/fault", refused).status, equals: 400)
    let stats = pool.test.send("GET", "/control/stats").json
    expect(stats?["Calls"]?["cognito-idp.GetUser"], equals: 4)
  }

  @Test func theControlPathMakesAndShowsUsers() throws {
    var pool = try TestPool()
    try pool.set("dora", ["Password": "Invited-1", "Attributes": ["email": "d@e.fr"]])
    let shown = pool.test.send("GET", "/control/user-pool/user?Username=Dora").json
    expect(shown?["Status"], equals: "FORCE_CHANGE_PASSWORD")
    expect(shown?["Attributes"]?["email"], equals: "d@e.fr")
    expect(pool.test.send("DELETE", "/control/user-pool/user?Username=dora").status, equals: 200)
    expect(pool.test.send("GET", "/control/user-pool/user?Username=dora").status, equals: 404)
    for (path, body) in [
      ("", ["UserPool": "nonsense"]), ("", ["Devices": "ALWAYS"]),
      ("/client", ["ClientId": "a-b"]), ("/client", ["ClientId": "a", "ClientSecret": "short"]),
      (
        "/client",
        [
          "ClientId": "a", "RefreshTokenRotation": true,
          "ExplicitAuthFlows": ["ALLOW_REFRESH_TOKEN_AUTH"],
        ]
      ), ("/user", ["Username": "x", "Status": "SOMETHING"]),
      ("/user", ["UserPool": "us-east-1_None", "Username": "x"]), ("/nothing", [:]),
    ] as [(String, JSON)] {
      expect(pool.test.send("POST", "/control/user-pool" + path, body).status >= 400)
    }
  }

  @Test func aSeedHasUserPools() throws {
    let seed = try SandboxSeed(
      json: Array(
        """
        {"UserPools": [{"Id": "eu-west-1_Seed", "MfaConfiguration": "ON",
          "Clients": [{"ClientId": "abc", "ExplicitAuthFlows": ["ALLOW_USER_SRP_AUTH"]}],
          "Users": [{"Username": "zoe", "Password": "Zoes-own-1",
            "Attributes": {"email": "zoe@example.com"}}]}]}
        """.utf8))
    let sandbox = Sandbox(seed, issuer: try TestSandbox.issuer.get(), randomSeed: 1)
    let pool = try #require(sandbox.state.userPools["eu-west-1_Seed"])
    expect(pool.settings.mfa == .on && pool.clients["abc"]?.flows == [.srp])
    expect(pool.find("Zoe").map { pool.isPassword("Zoes-own-1", of: $0) } == true)
    #expect(throws: ServiceError.self) {
      try SandboxSeed(
        json: Array(
          #"{"UserPools": [{"Id": "eu-west-1_S", "Users": [{"Username": "a", "Attributes": {"colour": "red"}}]}]}"#
            .utf8))
    }
  }
}
