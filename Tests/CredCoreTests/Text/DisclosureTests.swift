import Foundation
import TestSupport
import Testing

@testable import CredCore

/// Printing a value never shows a secret in it.
struct DisclosureTests {
  private static let text = "Kq7vXw2nTz9bRd4m"
  private static let secret = Secret(text)

  /// One of each type that holds a secret.
  private static func samples() throws -> [Any] {
    let time = WallTime(secondsSince1970: 1_800_000_000)
    let now = Instant(nanoseconds: 0)
    let credentials = Credentials(
      accessKeyID: "AKIA", secretAccessKey: secret, sessionToken: secret, expiration: time)
    let token = DeveloperToken(known: secret, expiration: time)
    let logins = try LoginsMap([("accounts.google.com", secret)])
    let signer = SigV4(accessKeyID: "AKIA", secretAccessKey: secret, sessionToken: secret)
    let header = HTTPHeader("Authorization", secret)
    let session = BackendSession(token: secret, developerUserIdentifier: nil)
    let identity = try IdentityID(Self.identity)
    var exec = ExecBackendSettings(command: ["/bin/true"])
    exec.environment = ["KEY": secret]
    var attempt = Refresh(goal: .credentials, method: .password(session))
    attempt.atCognito = .gaveToken(secret)
    let json = try JSONValue.parse(Array(#"{"a":["\#(text)",{"b":"\#(text)"}]}"#.utf8))
    let sample = try #require(
      SampleSession(packed: Secret(String(repeating: "a", count: 32) + ":" + hexadecimal)))
    let proxy = try Proxy.chosen(
      for: HTTPRequest(method: .get, url: "https://a.example/"),
      HTTPSettings(timeout: .seconds(1), replyLimit: 1)
    ) { $0 == "https_proxy" ? "http://u:\(text)@p:1" : nil }
    let values: [Any] = [
      try #require(proxy),
      secret, credentials, token, logins, logins.logins[0], signer, header, session, exec, attempt,
      json, sample, DeveloperCredentials(signer: signer),
      ExecOutcome(ending: .exited(0), standardOutput: secret),
      HTTPBackend(name: "b", headers: [header], hostToken: secret),
      SampleServer.SignIn(username: "u", uid: "1", salted: secret),
      HTTPReply(status: 200, body: secret), SentSecrets([secret]),
      HTTPRequest(method: .post, url: "http://h", headers: [header], body: secret),
      UpstreamCall.signIn(username: "u", password: secret),
      MachineAction.lendToken(1, secret, isNew: true),
      UpstreamOutcome.fileToken(secret), SignInInput.password(username: "u", password: secret),
      HeldToken(token, lifetime: nil, received: now),
      HeldCredentials(credentials, lifetime: .seconds(1), received: now, jitter: 0),
      SignInState.signedIn(.password(session)),
      SignInState.signedIn(.provider(try Self.providerSession())),
      SignUp(username: "u", password: secret, attributes: [.init(name: "a", value: secret)]),
      NamedSecret(name: "a", value: secret),
      try Request.parse(
        Array(#"{"op":"login","username":"u","password":"\#(text)"}"#.utf8)),
      RenderedReply.credentials(credentials), RenderedReply.token(token, of: identity),
      writer, form, ConfigurationSource(name: "f", bytes: Array(text.utf8)),
      JSONParser(bytes: Array(text.utf8), limits: .standard), framer(),
    ]
    let others = [
      try ofUserPools(), try ofConversations(), try ofProviders(), try ofEndpoint(),
      try ofBrowsers(),
    ]
    return values + others.joined()
  }

  private static func ofBrowsers() throws -> [Any] {
    let head = "GET /\(text)?\(text) HTTP/1.1\r\nHost: \(text)\r\n\r\n"
    guard case .request(let request) = BrowserRequest.read(Array(head.utf8)) else {
      throw InvalidInput(field: "the head", reason: "is refused")
    }
    let back = BrowserReturn(
      redirectURI: "http://localhost:8976/credd", state: secret, start: secret)
    return [request, try #require(back)]
  }

  private static func providerSession() throws -> ProviderSession {
    let token = HeldProviderToken(secret, lifetime: nil, received: .seconds(1))
    return ProviderSession(
      issuer: try PoolSamples.client().issuer, username: "u", subject: nil, deviceKey: nil,
      signedInAt: nil, refreshToken: secret, idToken: token, accessToken: token)
  }

  private static func ofConversations() throws -> [Any] {
    var input = PoolConversation.Input(username: "u", password: secret)
    input.devices = [("u", DeviceSecret(key: "k", groupKey: "g", password: secret))]
    return [
      input, PoolRequest.associateSoftwareToken(session: secret),
      PoolReply.softwareTokenVerified(session: secret),
      HeldProviderToken(secret, lifetime: nil, received: .seconds(1)), try providerSession(),
      poolRenewal(),
      SignInStep.totpSetup(secret: secret, uri: secret),
      AccountInput.confirm(username: "u", code: secret),
      OwnAccountInput.changePassword(from: secret, to: secret),
      AccountResult.softwareToken(secret: secret, uri: secret),
    ]
  }

  private static func ofProviders() throws -> [Any] {
    var generator = SystemRandomNumberGenerator()
    let secrets = AuthorizationSecrets(state: secret, nonce: secret, verifier: secret)
    let grant = try DeviceGrant(
      JSONValue.parse(
        Array(
          (#"{"device_code":"\#(text)","user_code":"WDJB","verification_uri":"#
            + #""https://login.example.com/activate","expires_in":60}"#).utf8)),
      of: OIDCSamples.issuer)
    let reply = OIDCSamples.tokens(id: OIDCSamples.token(), refresh: text)
    let client = try OIDCSamples.client(.post(secret))
    let tokens = try client.renewal(from: reply, of: "user-1", wallTime: OIDCSamples.now)
    return [
      secrets, grant, client, client.authentication, AuthorizationResponse.code(secret), tokens,
      try tokens.tokens.get(), try tokens.tokens.get().id,
      try client.grant(from: reply, to: .signIn),
      try ClientAssertion(
        clientID: text, keyID: text, audience: text,
        identifier: AssertionIdentifier(using: &generator), at: OIDCSamples.now, key: secret,
        signing: Signing()),
      ProviderConversation.Request.exchange(
        code: secret, redirectURI: "http://127.0.0.1/", secrets, at: client.provider),
      ProviderConversation.Request.poll(grant, at: client.provider),
      SignInStep.browser(url: secret, redirectURI: "http://127.0.0.1/", state: secret),
      try #require(UnclaimedTokens(secret, from: client.provider, of: nil)),
    ]
  }

  private struct Signing: AssertionSigning {
    func algorithm(ofKey pem: Secret) -> SigningAlgorithm? { .rs256 }

    func signature(
      of message: [UInt8], key pem: Secret, by algorithm: SigningAlgorithm
    ) -> [UInt8]? { message }
  }

  private static func ofEndpoint() throws -> [Any] {
    let bytes = Array(text.utf8) + Array(text.utf8)
    let key = try #require(TokenKey(Secret(bytes), ToyHashes()))
    var random = SystemRandomNumberGenerator()
    let token = key.token(
      of: .user(1), for: "p", at: WallTime(secondsSince1970: 0), &random, ToyHashes())
    var request = EndpointRequest()
    request.token = secret
    var reader = EndpointReader()
    var position = 0
    let head = "GET /a HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: \(text)\r\n\r\nGET /\(text)"
    let heads = Array(head.utf8)
    _ = reader.next(in: heads.span, from: &position)
    _ = reader.next(in: heads.span, from: &position)
    return [
      key, token, request, reader,
      EndpointReply.credentials(
        Credentials(
          accessKeyID: "A", secretAccessKey: secret, sessionToken: secret,
          expiration: WallTime(secondsSince1970: 0)), closes: false),
    ]
  }

  /// Hands back what it is given, so that a leak would show.
  private struct ToyHashes: Digests {
    func sha256(_ bytes: [UInt8]) -> [UInt8] { Array(bytes.prefix(32)) }
    func hmacSHA256(key: [UInt8], message: [UInt8]) -> [UInt8] { Array(key.prefix(32)) }
  }

  private static func ofUserPools() throws -> [Any] {
    let number = SRPInteger(Array(text.utf8))
    let pool = try UserPoolID("us-east-1_a")
    let client = try UserPoolClient(
      backend: "b", host: AWSHost(.cognitoUserPools, region: "us-east-1"), pool: pool,
      id: "i", secret: secret)
    let device = DeviceSecret(key: "k", groupKey: "g", password: secret)
    let claim = SRPClaim(secretBlock: secret, signature: secret, timestamp: "t")
    let challenge = try SRPChallenge(
      salt: Secret("1"), serverValue: Secret("2"), secretBlock: secret)
    let tokens =
      #"{"AuthenticationResult":{"IdToken":"\#(text)","AccessToken":"\#(text)","#
      + #""RefreshToken":"\#(text)"}}"#
    let code = #"{"SecretCode":"\#(text)","Session":"\#(text)"}"#
    let asked =
      #"{"ChallengeName":"NEW","Session":"\#(text)","ChallengeParameters":{"a":"\#(text)"}}"#
    func reply(_ body: String) -> HTTPReply { HTTPReply(status: 200, body: Secret(body)) }
    let signedIn = try client.signInReply(from: reply(tokens), to: .signIn)
    let read = try ProviderTokens(
      #require(try JSONValue.parse(Array(tokens.utf8))["AuthenticationResult"]), of: client)
    return [
      number, SRPPrivateValue(known: number), challenge, claim, device, client, signedIn, read,
      SRPTerms(privateValue: secret, serverValue: secret, scramble: secret, passwordHash: secret),
      SRPIdentity.user("u", of: pool, password: secret), SRPIdentity.device(device),
      DeviceVerifier(salt: secret, passwordVerifier: secret), DeviceSalt(known: number), read.id,
      PoolUsername(name: "u", secretHash: secret), try ClientMetadata([("k", secret)]),
      PoolSignInStart.password(secret), PoolChoice.password(secret),
      PoolAnswer.passwordVerifier(claim),
      PoolAnswer.newPassword(secret, attributes: [.init(name: "a", value: secret)]),
      try client.signInReply(from: reply(asked), to: .signIn),
      try PoolChallenge(JSONValue.parse(Array(asked.utf8))),
      SoftwareTokenOwner.user(accessToken: secret),
      try SoftwareToken(JSONValue.parse(Array(code.utf8))),
      try PoolUser(
        JSONValue.parse(
          Array(
            #"{"Username":"u","UserAttributes":[{"Name":"a","Value":"\#(text)"}]}"#.utf8))),
    ]
  }

  private static let identity = "us-east-1:11111111-2222-3333-4444-555555555555"
  private static let hexadecimal = "0123456789abcdef0123456789abcdef"

  private static var writer: JSONWriter {
    var writer = JSONWriter()
    writer.string(secret)
    return writer
  }

  private static var form: FormBody {
    var form = FormBody()
    form.append("token", secret)
    return form
  }

  private static func framer() -> LineFramer {
    var framer = LineFramer()
    let bytes = Array(text.utf8)
    var position = 0
    _ = framer.next(in: bytes.span, from: &position)
    return framer
  }

  /// The text, and the numbers as which an array of bytes is printed.
  private static let forms = [text, hexadecimal].flatMap { text in
    [
      String(text.prefix(8)), text.utf8.prefix(8).map { "\($0)" }.joined(separator: ", "),
      text.utf8.prefix(8).map { "- \($0)" }.joined(separator: "\n"),
    ]
  }

  private static func isDisclosed(by output: String) -> Bool {
    let lines = output.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    return forms.contains { output.contains($0) || lines.joined(separator: "\n").contains($0) }
  }

  private static func poolRenewal() -> ProviderRenewal {
    var ids = CallIDs()
    return ProviderRenewal(call: ids.next(), token: secret, started: .seconds(1))
  }

  @Test func noTypeShowsItsSecret() throws {
    for value in try Self.samples() {
      var dumped = ""
      dump([value], to: &dumped)
      let outputs = [
        "\(value)", String(describing: Optional.some(value)), String(reflecting: value),
        String(reflecting: ["key": value]), dumped,
      ]
      for output in outputs {
        expect(!Self.isDisclosed(by: output), "\(type(of: value))")
      }
    }
  }

  /// Without this, the test above might pass whatever is printed.
  @Test func theCheckRecognisesAShownSecret() {
    var dumped = ""
    dump(Array(Self.text.utf8), to: &dumped)
    for output in [Self.text, "\(Array(Self.text.utf8))", dumped] {
      expect(Self.isDisclosed(by: output))
    }
  }

  /// Every type with a stored secret has a sample above.
  @Test func everyTypeWithASecretHasASample() throws {
    let root = URL(filePath: #filePath).appending(path: "../../../../Sources").standardizedFileURL
    let known = Set(try Self.samples().map { "\(type(of: $0))" })
    var found: Set<String> = []
    for module in ["CredCore", "CredService", "CredRuntime"] {
      let folder = root.appending(path: module).path
      for file in FileManager.default.enumerator(atPath: folder) ?? .init() {
        guard let name = file as? String, name.hasSuffix(".swift") else { continue }
        found.formUnion(
          Self.holders(in: try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)))
      }
    }
    expect(found.count > 16)
    // The tests of the other modules have the samples of their own types.
    let others: Set = ["Command", "ReplicaUse", "SignedIn", "Source", "UpstreamRequest"]
    expect(found.subtracting(known), equals: others)
  }

  /// The types of a file that have a stored `Secret`, or a case with one.
  private static func holders(in text: String) -> Set<String> {
    let kinds = ["struct ", "enum ", "class ", "actor "]
    var types = ["", ""]
    var holders: Set<String> = []
    for line in text.split(separator: "\n") {
      let depth = line.utf8.prefix { $0 == UInt8(ascii: " ") }.count / 2
      // Most lines are neither: regular expressions are slow in a debug build.
      if depth < 2, kinds.contains(where: line.contains(bytesOf:)),
        let match = line.firstMatch(of: /\b(struct|enum|class|actor) (\w+)/)
      {
        types[depth] = String(match.output.2)
      }
      guard depth == 1 || depth == 2, line.contains(bytesOf: "Secret") else { continue }
      let isStored =
        line.contains(/^ +(public |package |private )*(let|var) \w+: [^={]*\bSecret\b[^={]*$/)
        || depth == 1 && line.contains(/^ +(public |package )?var \w+: [^={]*\bSecret\b[^={]*=/)
      let isLocal = depth == 2 && !line.contains("public ") && !line.contains(" let ")
      let isCase = line.contains(/^  case \w+\(.*\bSecret\b/)
      if isStored && !isLocal || isCase { holders.insert(types[depth - 1]) }
    }
    return holders
  }
}
