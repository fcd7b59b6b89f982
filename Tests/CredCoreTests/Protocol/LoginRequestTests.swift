import CredCore
import TestSupport
import Testing

struct LoginRequestTests {
  private static let identityID = "us-east-1:11111111-2222-3333-4444-555555555555"

  private func login(_ members: String) throws -> LoginRequest? {
    let request = try RequestTests.parse("{\"op\":\"login\",\(members)}")
    expect(!request.operation.isFreeOfSecrets)
    guard case .login(let login) = request.operation else { return nil }
    return login
  }

  private func message(_ members: String) -> String? {
    do {
      _ = try login(members)
      return nil
    } catch let error as RequestError {
      return error.error.code == .invalidRequest ? error.error.message : nil
    } catch {
      return nil
    }
  }

  @Test func readsABareLogin() throws {
    expect(
      try login(#""profile":"work""#), equals: LoginRequest(profile: "work", signIn: .host))
    let bare = try RequestTests.parse(#"{"op":"login"}"#)
    expect(bare.operation, equals: .login(LoginRequest(signIn: .host)))
    let role = "arn:aws:iam::123456789012:role/r"
    expect(
      try login("\"custom_role_arn\":\"\(role)\""),
      equals: LoginRequest(signIn: .host, customRoleARN: role))
  }

  @Test func readsAPassword() throws {
    let password = try login(#""profile":"work","username":"zoë","password":"p\"w\n""#)
    expect(
      password,
      equals: LoginRequest(
        profile: "work", signIn: .password(username: "zoë", password: Secret("p\"w\n"))))
  }

  @Test func readsASignInByBrowserAndByDeviceCode() throws {
    expect(
      try login(#""browser":{}"#), equals: LoginRequest(signIn: .browser(BrowserLogin())))
    let chosen = try login(
      #""browser":{"redirect_uri":"http://127.0.0.1:1/","identity_provider":"Okta","#
        + #""prompt":"select_account","scopes":["openid","email"]}"#)
    expect(
      chosen,
      equals: LoginRequest(
        signIn: .browser(
          BrowserLogin(
            redirectURI: "http://127.0.0.1:1/", identityProvider: "Okta",
            prompt: .selectAccount, scopes: ["openid", "email"]))))
    expect(try login(#""device":true"#), equals: LoginRequest(signIn: .device))
  }

  @Test(arguments: [
    (#""browser":7"#, "must be an object"), (#""browser":{"redirect":"x"}"#, "unknown key"),
    (#""browser":{"prompt":"none"}"#, "\"prompt\" must be one of"),
    (#""browser":{"redirect_uri":""}"#, "\"redirect_uri\" must be"),
    (#""browser":{"scopes":"openid"}"#, "\"scopes\" must be a list"),
    (#""browser":{"scopes":[""]}"#, "\"scopes\" must hold"),
    (#""browser":{},"device":true"#, "cannot be combined with"),
    (#""browser":{},"username":"a""#, "cannot be combined with \"username\""),
    (#""device":false"#, "\"device\" must be true"),
    (#""device":true,"logins":{"a.b":"t"}"#, "cannot be combined with \"logins\""),
  ])
  func refusesWhatIsNoSignInElsewhere(_ members: String, _ reason: String) {
    expect(message(members)?.contains(reason) == true, "\(message(members) ?? "")")
  }

  @Test func readsADeveloperToken() throws {
    let token = try login("\"identity_id\":\"\(Self.identityID)\",\"token\":\"eyJ.x.y\"")
    expect(
      token,
      equals: LoginRequest(
        signIn: .developerToken(
          identityID: try IdentityID(Self.identityID),
          token: try DeveloperToken(Secret("eyJ.x.y")))))
  }

  @Test func readsTheLoginsMapInItsOrder() throws {
    let role = "arn:aws:iam::123456789012:role/r"
    let logins = try login(
      #""logins":{"www.amazon.com":"t1","accounts.google.com":"t2"},"#
        + "\"custom_role_arn\":\"\(role)\"")
    expect(
      logins,
      equals: LoginRequest(
        signIn: .logins(
          try LoginsMap([
            ("www.amazon.com", Secret("t1")), ("accounts.google.com", Secret("t2")),
          ])), customRoleARN: role))
  }

  @Test(arguments: [
    #""identity_id":"a:0","token":"t","logins":{"a":"t"}"#,
    #""username":"u","logins":{"a":"t"}"#,
    #""username":"u","password":"p","logins":{"a":"t"},"alone":true"#,
    #""username":"u","password":"p","logins":{"a":"t"},"identity_id":"a:0""#,
    #""username":"u","password":"p","identity_id":"a:0","token":"t""#,
  ])
  func takesExactlyOneKindOfSignIn(members: String) {
    expect(
      message(members),
      equals:
        #""login" takes one of "username" with or without "password", "identity_id" with "token", "#
        + #""logins", perhaps with "identity_id", "browser" and "device"; "username" with "#
        + #""password" may have "logins" beside it"#)
  }

  @Test func aPasswordMayHaveLoginsBesideIt() throws {
    let members = #""username":"u","password":"p","logins":{"a.com":"t","b.com":"u"}"#
    expect(
      try login(members)?.signIn,
      equals: .password(
        username: "u", password: Secret("p"),
        linking: try LoginsMap([("a.com", Secret("t")), ("b.com", Secret("u"))])))
    expect(message(#""username":"u","password":"p","logins":{}"#)?.contains("1 to 10") == true)
  }

  @Test func loginsMayHaveAnIdentityAndStandAlone() throws {
    let map = try LoginsMap([("a", Secret("t"))])
    let identity = try IdentityID(Self.identityID)
    let logins = #""logins":{"a":"t"}"#
    expect(
      try login("\(logins),\"identity_id\":\"\(Self.identityID)\"")?.signIn,
      equals: .logins(map, identityID: identity))
    expect(try login("\(logins),\"alone\":true")?.signIn, equals: .logins(map, isAlone: true))
    expect(try login("\(logins),\"alone\":false")?.signIn, equals: .logins(map))
    expect(message("\(logins),\"alone\":1"), equals: #""alone" must be true or false"#)
    expect(message(#""alone":true"#), equals: #""alone" needs "logins""#)
    expect(message("\(logins),\"identity_id\":\"x\"")?.contains("REGION:UUID") == true)
  }

  @Test(arguments: [
    (#""password":"p""#, #""password" needs "username""#),
    (#""identity_id":"a:0""#, #""identity_id" needs "token""#),
    (#""token":"t""#, #""token" needs "identity_id""#),
    (#""username":"u","password":5"#, #""password" must be a string"#),
    (#""username":"u","password":"""#, #""password" must be 1 to 4096 bytes"#),
    (
      #""username":"a\nb","password":"p""#,
      #""username" must be 1 to 1024 characters without controls"#
    ),
    (
      #""identity_id":"nonsense","token":"t""#,
      #""identity_id" must be REGION:UUID of at most 55 characters"#
    ),
    (
      #""identity_id":"us-east-1:ABC","token":"t""#,
      #""identity_id" must be REGION:UUID of at most 55 characters"#
    ),
    (#""identity_id":"a:0","token":"""#, #""token" must be 1 to 50000 characters"#),
    (#""logins":[]"#, #""logins" must be an object of 1 to 10 providers and tokens"#),
    (#""logins":{}"#, #""logins" must be an object of 1 to 10 providers and tokens"#),
    (
      #""logins":{"":"t"}"#,
      #"provider "" at byte 24: logins must not hold a provider name that is empty, "#
        + "over 128 characters or blank"
    ),
    (
      #""logins":{"https://x.example":"t"}"#,
      #"provider "https://x.example" at byte 24: logins must not hold a provider name "#
        + "with a scheme: Cognito wants it without"
    ),
    (
      #""logins":{"a":""}"#,
      #"provider "a" at byte 24: logins must not hold a token for "a" that is empty or over "#
        + "50000 characters"
    ),
    (#""logins":{"é":"t"}"#, #"provider "é" at byte 24 must be ASCII"#),
    (#""logins":{"a":null}"#, #"provider "a" at byte 24 must have a string for a token"#),
    (
      #""logins":{"cognito-identity.amazonaws.com":"t"}"#,
      #"a developer token goes into "token", with its "identity_id""#
    ),
    (
      #""logins":{"a":"t"},"custom_role_arn":"arn:aws""#,
      #""custom_role_arn" must be an ARN of 20 to 2048 characters"#
    ),
    (
      #""logins":{"a":"t"},"custom_role_arn":"http://aws.example.com/role""#,
      #""custom_role_arn" must be an ARN of 20 to 2048 characters"#
    ),
    (#""logins":{"a":"t","a":"u"}"#, "line is not valid JSON at byte 32: duplicate key \"a\""),
  ])
  func namesWhatCognitoWouldRefuse(members: String, expected: String) {
    expect(message(members), equals: expected)
  }

  @Test func limitsAreCognitosOwn() throws {
    let ten = (0..<10).map { "\"p\($0)\":\"t\"" }.joined(separator: ",")
    expect(message("\"logins\":{\(ten)}") == nil)
    expect(message("\"logins\":{\(ten),\"p10\":\"t\"}") != nil)
    let token = String(repeating: "é", count: 50_000)
    expect(message("\"logins\":{\"p\":\"\(token)\"}") == nil)
    expect(message("\"logins\":{\"p\":\"\(token)x\"}") != nil)
    let provider = String(repeating: "p", count: 128)
    expect(message("\"logins\":{\"\(provider)\":\"t\"}") == nil)
    expect(message("\"logins\":{\"\(provider)p\":\"t\"}") != nil)
    let id = "a:" + String(repeating: "0", count: 53)
    expect(message("\"identity_id\":\"\(id)\",\"token\":\"t\"") == nil)
    expect(message("\"identity_id\":\"\(id)0\",\"token\":\"t\"") != nil)
  }

  @Test func theLargestLoginFitsALine() throws {
    let token = String(repeating: "t", count: 50_000)
    let logins = (0..<10).map { index in
      "\"\(index)" + String(repeating: "p", count: 127) + "\":\"\(token)\""
    }
    let members = "\"logins\":{\(logins.joined(separator: ","))}"
    expect(message(members) == nil)
    expect("{\"op\":\"login\",\(members)}".utf8.count < Limits.Line.bytes)
  }

  @Test func errorsDoNotQuoteSecrets() {
    let secret = "hunter2-correct-horse"
    let lines = [
      "\"username\":\"\\u0001\",\"password\":\"\(secret)\"",
      "\"identity_id\":\"x\",\"token\":\"\(secret)\"",
      "\"logins\":{\"a b\":\"\(secret)\"}",
      "\"username\":\"u\",\"password\":\"\(secret)",
      "\"username\":\"u\",\"password\":\"\(secret)\\x\"",
    ]
    for line in lines {
      let message = message(line)
      expect(message?.contains(secret) == false)
    }
  }
}
