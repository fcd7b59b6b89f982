import CredCore
import TestSupport
import Testing

struct CognitoIdentityTests {
  @Test func getID() throws {
    let request = try Samples.cognito.getID(
      pool: Samples.pool, logins: LoginsMap([("accounts.google.com", Secret("to\"ken"))]))
    expect(request.method, equals: .post)
    expect(request.url, equals: "https://cognito-identity.us-east-1.amazonaws.com/")
    expect(Samples.header(request, "X-Amz-Target"), equals: "AWSCognitoIdentityService.GetId")
    expect(Samples.header(request, "Content-Type"), equals: "application/x-amz-json-1.1")
    expect(
      Samples.body(request),
      equals:
        #"{"IdentityPoolId":"\#(Samples.poolText)","Logins":{"accounts.google.com":"to\"ken"}}"#)
  }

  @Test func aDeveloperTokenNeverGoesToGetID() throws {
    let logins = try LoginsMap([("cognito-identity.amazonaws.com", Secret("t"))])
    #expect(throws: InvalidInput.self) {
      try Samples.cognito.getID(pool: Samples.pool, logins: logins)
    }
  }

  @Test func getCredentials() throws {
    let request = try Samples.cognito.getCredentials(
      identity: Samples.identity,
      logins: LoginsMap([("cognito-identity.amazonaws.com", Secret("t"))]),
      customRoleARN: "arn:aws:iam::123456789012:role/r")
    expect(
      Samples.header(request, "X-Amz-Target"),
      equals: "AWSCognitoIdentityService.GetCredentialsForIdentity")
    expect(
      Samples.body(request),
      equals: #"{"IdentityId":"\#(Samples.identityText)","#
        + #""Logins":{"cognito-identity.amazonaws.com":"t"},"#
        + #""CustomRoleArn":"arn:aws:iam::123456789012:role/r"}"#)
  }

  @Test func aGuestSendsNoLogins() throws {
    let guest = try Samples.cognito.getOpenIDToken(identity: Samples.identity)
    expect(Samples.body(guest), equals: #"{"IdentityId":"\#(Samples.identityText)"}"#)
  }

  @Test(arguments: [
    ("", "alice", 900, []), ("a/b", "alice", 900, []), (Samples.provider, "", 900, []),
    (Samples.provider, String(repeating: "u", count: 1025), 900, []),
    (Samples.provider, "alice", 0, []), (Samples.provider, "alice", 86_401, []),
    (Samples.provider, "alice", 900, ["", "a"]), (Samples.provider, "alice", 900, ["a", "a"]),
    (Samples.provider, "alice", 900, (0...50).map { "t\($0)" }),
  ])
  func developerQueriesRespectCognitosLimits(
    provider: String, user: String, duration: Int, tags: [String]
  ) throws {
    let query = CognitoIdentity.DeveloperTokenQuery(
      pool: try Samples.pool, provider: provider, userIdentifier: user, tokenDuration: duration,
      principalTags: tags.map { ($0, "v") })
    #expect(throws: InvalidInput.self) {
      try Samples.cognito.getOpenIDTokenForDeveloperIdentity(
        query, signer: SigV4(accessKeyID: "A", secretAccessKey: Secret("s")),
        digests: TestCrypto(), now: SigV4Tests.now)
    }
  }
}

struct CognitoReplyTests {
  static let credentials = #"""
    {"Credentials":{"AccessKeyId":"ASIAQWERTYUIOPASDFGH","Expiration":1.767326645E9,\#
    "SecretKey":"wJalrXUtnFEMI/K7MDENG","SessionToken":"IQoJb3Jp+/="},\#
    "IdentityId":"us-east-1:99999999-8888-7777-6666-555555555555"}
    """#
  static let date = ["date": "Fri, 02 Jan 2026 03:04:05 GMT"]

  @Test func readsCredentials() throws {
    let reply = try CognitoIdentity.credentials(
      from: Samples.reply(200, Self.credentials, Self.date))
    expect(reply.identity, equals: try Samples.identity)
    expect(reply.credentials.accessKeyID, equals: "ASIAQWERTYUIOPASDFGH")
    expect(reply.credentials.secretAccessKey, equals: Secret("wJalrXUtnFEMI/K7MDENG"))
    expect(reply.credentials.sessionToken, equals: Secret("IQoJb3Jp+/="))
    expect(reply.credentials.expiration, equals: WallTime(milliseconds: 1_767_326_645_000))
    expect(reply.serverTime, equals: WallTime(milliseconds: 1_767_323_045_000))
  }

  @Test(arguments: [
    (#""AccessKeyId":"ASIAQWERTYUIOPASDFGH","#, "", "AccessKeyId"),
    ("ASIAQWERTYUIOPASDFGH", "", "AccessKeyId"),
    ("ASIAQWERTYUIOPASDFGH", "ASIA\\nQWERTYUIOPASDFGH", "AccessKeyId"),
    ("wJalrXUtnFEMI/K7MDENG", "", "SecretKey"), ("SecretKey", "Secret", "SecretKey"),
    ("wJalrXUtnFEMI/K7MDENG", "a b", "SecretKey"),
    (#""IQoJb3Jp+/=""#, "null", "SessionToken"), (#""IQoJb3Jp+/=""#, "7", "SessionToken"),
    ("1.767326645E9", "0", "Expiration"), ("1.767326645E9", "1767326645000", "Expiration"),
    ("1.767326645E9", "1767323000", "Expiration"), ("1.767326645E9", "1e999", "Expiration"),
    ("1.767326645E9", #""2026""#, "Expiration"), ("1.767326645E9", "1969326645", "Expiration"),
    ("us-east-1:99999999", "nonsense", "IdentityId"), ("\"IdentityId\"", "\"Id\"", "IdentityId"),
    ("\"Credentials\"", "\"C\"", "Credentials"),
  ])
  func namesWhatIsWrongAndNeverAValue(old: String, new: String, field: String) {
    let body = Self.credentials.replacing(old, with: new)
    expect(body != Self.credentials)
    let failure = failure { () throws(UpstreamFailure) in
      _ = try CognitoIdentity.credentials(from: Samples.reply(200, body, Self.date))
    }
    expect(failure?.message.contains("(\(field) ") == true)
    expect(failure?.message.contains("wJal") == false)
    expect(failure?.code, equals: .cognitoUnavailable)
    expect(failure?.failureClass, equals: .transient(retryAfter: nil))
  }

  @Test(arguments: ["", "null", "[]", "{", "\"ok\"", "{}{}", "\u{FEFF}{}", "<xml/>"])
  func refusesAReplyThatIsNoObject(body: String) {
    #expect(throws: UpstreamFailure.self) {
      try CognitoIdentity.identity(from: Samples.reply(200, body))
    }
  }

  @Test func refusesALargeReplyOfCognito() {
    let body =
      #"{"IdentityId":"\#(Samples.identityText)","#
      + #""x":"\#(String(repeating: "x", count: Limits.Upstream.awsReplyBytes))"}"#
    let failure = failure { () throws(UpstreamFailure) in
      _ = try CognitoIdentity.identity(from: Samples.reply(200, body))
    }
    expect(failure, equals: .transport(.tooLarge, from: .cognitoIdentity))
  }

  @Test func readsIdentityAndToken() throws {
    let id = #"{"IdentityId":"\#(Samples.identityText)"}"#
    expect(try CognitoIdentity.identity(from: Samples.reply(200, id)), equals: try Samples.identity)
    let body = #"{"IdentityId":"\#(Samples.identityText)","Token":"moto"}"#
    let token = try CognitoIdentity.token(from: Samples.reply(200, body))
    expect(token.identity, equals: try Samples.identity)
    expect(token.token.token, equals: Secret("moto"))
    let developer = try CognitoIdentity.developerToken(
      from: Samples.reply(200, body), backend: "corp")
    expect(developer, equals: token)
  }
}
