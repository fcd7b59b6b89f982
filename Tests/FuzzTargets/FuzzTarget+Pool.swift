import CredCore
import SeededRandom

/// Replies of a user pool: each reader of them, and a sign-in at a pool that answers nothing else.
extension FuzzTarget {
  private static let password = "Kq7vXw2nTz9bRd4m"

  func judgePoolReply(_ bytes: [UInt8]) -> Verdict {
    let reply = reply(bytes)
    let second = SecondReply(reply)
    guard let client = Self.poolClient else { return .fault("the client cannot be made") }
    let token = Secret("access")
    return .all([
      judgeRead("AuthenticationResult", second, SecondPool.tokens) { () throws(UpstreamFailure) in
        guard case .tokens(let tokens) = try client.signInReply(from: reply, to: .signIn).step
        else { return nil }
        return Self.fields(tokens)
      },
      judgeRead("a challenge", second, SecondPool.challenge) { () throws(UpstreamFailure) in
        guard case .challenge(let asked) = try client.signInReply(from: reply, to: .signIn).step
        else { return nil }
        return [asked.name]
      },
      judgeRead("a renewal", second, SecondPool.tokens) { () throws(UpstreamFailure) in
        Self.fields(try client.renewal(from: reply))
      },
      judgeRead("GetUser", second, SecondPool.user) { () throws(UpstreamFailure) in
        let user = try client.user(from: reply)
        return [user.username] + user.attributes.map { $0.value.exposedText() }
      },
      judgeRead("ListDevices", second, SecondPool.devices) { () throws(UpstreamFailure) in
        try client.devices(from: reply).devices.map(\.key)
      },
      judgeRead("ListUserSessions", second, SecondPool.sessions) { () throws(UpstreamFailure) in
        try client.sessions(from: reply).sessions.map(\.id.text)
      },
      judgeRead("AssociateSoftwareToken", second, SecondPool.secret) {
        () throws(UpstreamFailure) in
        let owner = SoftwareTokenOwner.user(accessToken: token)
        return [try client.softwareToken(from: reply, of: owner).secret.exposedText()]
      },
      judgeConversation(reply, client),
    ])
  }

  private static var poolClient: UserPoolClient? {
    guard let pool = try? UserPoolID("us-east-1_Fuzz") else { return nil }
    return try? UserPoolClient(
      backend: "staff", host: AWSHost(.cognitoUserPools, region: "us-east-1"), pool: pool,
      id: "1client", secret: nil)
  }

  private static func fields(_ tokens: ProviderTokens) -> [String?] {
    [
      tokens.id.token.exposedText(), tokens.access.token.exposedText(),
      tokens.refresh?.exposedText(),
    ]
  }

  /// What was read must stand in the reply. What was refused is judged by its message.
  func judgeRead(
    _ what: String, _ second: SecondReply, _ expected: (SecondJSON) -> [String?],
    _ read: () throws(UpstreamFailure) -> [String?]?
  ) -> Verdict {
    do throws(UpstreamFailure) {
      guard let value = try read() else { return .refused }
      guard let object = second.object else {
        return .check(second.json == .outOfRange, "\(what): read from what is no object")
      }
      return .of(what, value, expected(object))
    } catch {
      return judge(error, second)
    }
  }

  // MARK: A sign-in

  /// A pool that gives this reply to every request: the sign-in ends, and the password is sent in no
  /// form that a proof was to replace.
  private func judgeConversation(_ reply: HTTPReply, _ client: UserPoolClient) -> Verdict {
    let input = PoolConversation.Input(username: "alice", password: Secret(Self.password))
    let plan = PoolConversation.Plan(
      backend: "staff", issuer: client.issuer, flow: .srp, rememberDevice: .yes)
    guard var conversation = try? PoolConversation(plan, input) else {
      return .fault("the sign-in cannot begin")
    }
    var random: any RandomNumberGenerator = Dice(seed: 1)
    var event = PoolConversation.Event.started
    var answered = 0
    for _ in 0..<400 {
      let action = conversation.handle(
        event, now: .seconds(1000), wallTime: WallTime(milliseconds: 1_700_000_000_000),
        random: &random)
      switch action {
      case .compute(let proof): event = .computed(proof.computed(by: QuickCrypto()))
      case .send(let request), .sendLater(let request, _):
        guard
          let sent = try? client.request(request, deviceName: "host", digests: QuickCrypto()),
          !sent.body.contains(Self.password)
        else { return .fault("a request cannot be made, or holds the password") }
        do throws(UpstreamFailure) {
          event = .replied(try client.reply(reply, to: request))
        } catch {
          event = .failed(error)
        }
      case .ask(let challenge, _):
        // As long as somebody answers, a pool may ask.
        answered += 1
        guard answered < 10 else { return .refused }
        event = .answered(Self.answers(to: challenge.step))
      case .askAgain, .refuse, .finish, .fail: return .refused
      }
    }
    return .fault("the sign-in does not end")
  }

  private static func answers(to step: SignInStep) -> ChallengeAnswers {
    var answers = step.answers.map { NamedSecret(name: $0, value: Secret("123456")) }
    var attributes: [NamedSecret]?
    switch step {
    case .select(let choices):
      answers = [NamedSecret(name: "choice", value: Secret(choices.first ?? ""))]
    case .newPassword(let required, _):
      attributes = required.map { NamedSecret(name: $0, value: Secret("v")) }
    case .code, .password, .totpSetup, .custom, .browser, .device, .confirm: break
    }
    return ChallengeAnswers(answers, attributes: attributes)
  }
}

extension Secret {
  fileprivate func contains(_ text: String) -> Bool { exposedText()?.contains(text) ?? false }
}

/// Numbers that are as long as the real ones, and a cipher that lets the fuzzed bytes through.
struct QuickCrypto: SRPArithmetic, Digests, BlockCipher {
  func decryptAES128CBC(_ ciphertext: [UInt8], key: [UInt8], iv: [UInt8]) -> [UInt8]? { ciphertext }
  func power(_ exponent: Secret) -> Secret { Secret([UInt8](repeating: 7, count: 384)) }
  func sharedSecret(_ terms: SRPTerms) -> Secret? { power(terms.passwordHash) }
  func sha256(_ bytes: [UInt8]) -> [UInt8] { [UInt8](repeating: 9, count: 32) }
  func hmacSHA256(key: [UInt8], message: [UInt8]) -> [UInt8] { [UInt8](repeating: 5, count: 32) }
}

/// The second reading of what a user pool says.
private enum SecondPool {
  static func tokens(_ object: SecondJSON) -> [String?] {
    let result = object["AuthenticationResult"]
    return ["IdToken", "AccessToken", "RefreshToken"].map { result?[$0]?.fullText }
  }

  static func challenge(_ object: SecondJSON) -> [String?] { [object["ChallengeName"]?.text] }

  static func user(_ object: SecondJSON) -> [String?] {
    var values: [String?] = [object["Username"]?.text]
    if case .array(let attributes)? = object["UserAttributes"] {
      values += attributes.map { $0["Value"]?.text ?? "" }
    }
    return values
  }

  static func devices(_ object: SecondJSON) -> [String?] {
    guard case .array(let devices)? = object["Devices"] else { return [] }
    return devices.map { $0["DeviceKey"]?.text }
  }

  static func sessions(_ object: SecondJSON) -> [String?] {
    guard case .array(let sessions)? = object["Sessions"] else { return [] }
    return sessions.map { $0["SessionId"]?.text }
  }

  static func secret(_ object: SecondJSON) -> [String?] { [object["SecretCode"]?.text] }
}
