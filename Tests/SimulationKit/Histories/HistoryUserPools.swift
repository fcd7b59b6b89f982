import CredCore

/// Cognito user pools that remember what they gave and to whom: sign-ins with their questions, tokens,
/// and what became of each refresh token. A pool is the server that it is asked at.
final class HistoryUserPools {
  static let client = "historyclient0123456789"
  /// How long a question can be answered.
  static let answerTime = Duration.seconds(180)

  /// One user of one pool. People use their own names.
  struct User: Hashable, Comparable {
    let server: String
    let person: Int

    var name: String { HistoryPeople.name(person) }

    static func < (one: User, other: User) -> Bool {
      (one.server, one.person) < (other.server, other.person)
    }
  }

  /// What a pool gave: a token, or the name of a sign-in under way.
  struct Given {
    enum Kind { case id, access, refresh, session }

    let kind: Kind
    let user: User
    /// The sign-in that it came of.
    let family: Int
    let ends: Instant
  }

  /// What a pool asks after the password.
  enum Question {
    case proof(HistoryProof)
    /// An answer, by the challenge's name and that of its parameter.
    case code(String, parameter: String, answer: String)
    case choice(challenge: String, among: [String], leadsTo: [Question])
    case newPassword
    case custom(answer: String)
    /// Nil before the pool was asked for a secret.
    case appSetup(Int?, isVerified: Bool)
    /// A device that takes the place of a code: first its SRP_A, then its proof.
    case device(Int)
    case deviceProof(Int, HistoryProof)
  }

  /// A sign-in under way.
  struct SignIn {
    let user: User
    let pool: String
    /// The present one comes first.
    var questions: [Question]
    var session: Int
    var ends: Instant
    /// The device that the sign-in began with.
    var device: Int?
  }

  let world: World
  unowned let upstreams: HistoryUpstreams
  private(set) var given: [Int: Given] = [:]
  var families: [Int: (user: User, tokens: RefreshTokens<Int>)] = [:]
  /// `iss` of the tokens of user pools.
  var issuers: [Int: String] = [:]
  /// Of providers' browsers.
  var codes: [Int: Code] = [:]
  var devices: [Int: Device] = [:]
  /// Sign-ins by device code whose tokens came after their end.
  var unwanted: Set<Int> = []
  var passwords: [User: String] = [:]
  private var newPasswords = 0
  var signIns: [Int: SignIn] = [:]
  var factors = HistoryFactors()
  /// The latest of each user.
  var latest: [User: Int] = [:]
  /// The refresh tokens whose replacement reached the daemon.
  var replaced: Set<Int> = []
  /// Those that are being used, by the process that does it.
  var inUse: [Int: Int] = [:]
  /// Sign-ins of a person ended otherwise than by a logout.
  var signedOut: (Int) -> Void = { _ in }
  /// A device code has brought tokens, and the daemon does not have them yet.
  var tokensAreOnTheirWay: (Int) -> Void = { _ in }
  /// A pool does not know a user's device any more.
  var deviceForgotten: (User) -> Void = { _ in }
  /// A sign-in begins without a device.
  var beganWithoutDevice: (User) -> Void = { _ in }

  init(_ world: World, _ upstreams: HistoryUpstreams) {
    self.world = world
    self.upstreams = upstreams
  }

  // MARK: What people know

  func password(of person: Int, at server: String) -> String {
    passwords[User(server: server, person: person)] ?? HistorySecret.password(of: person)
  }

  func newPassword(of person: Int) -> String {
    newPasswords += 1
    return "\(HistorySecret.password(of: person))-\(newPasswords)"
  }

  /// What a person answers to the question of the latest sign-in in their name; nil if none is open.
  func answer(of person: Int, at server: String) -> String? {
    let user = User(server: server, person: person)
    guard let question = latest[user].flatMap({ signIns[$0] })?.questions.first else { return nil }
    switch question {
    case .code(_, _, let answer), .custom(let answer): return answer
    case .choice(_, let choices, _): return choices.last
    case .newPassword: return newPassword(of: person)
    case .proof: return password(of: person, at: server)
    case .appSetup, .device, .deviceProof: return nil
    }
  }

  /// The pools end all sign-ins of a person.
  func revoke(person: Int) {
    for number in families.keys.sorted() where families[number]?.user.person == person {
      families[number]?.tokens.revokeAll()
    }
  }

  // MARK: Requests

  /// Whose request it is, as far as the pool can tell.
  func person(asking body: JSONValue?) -> Int? {
    let named =
      body?["AuthParameters"]?["USERNAME"]?.text ?? body?["ChallengeResponses"]?["USERNAME"]?.text
      ?? body?["Username"]?.text
    if let named { return HistoryPeople.person(named: named) }
    let token =
      body?["RefreshToken"] ?? body?["AccessToken"] ?? body?["Token"] ?? body?["Code"]
      ?? body?["Session"]
    return token.flatMap(number).flatMap { given[$0]?.user.person }
  }

  /// What one pool gave is sent to no other.
  func staysWithIssuer(_ body: JSONValue?, _ server: String) {
    let server = world.fault == .wrongServers ? "another" : server
    var tokens = ["RefreshToken", "AccessToken", "Token", "Session", "Code"]
      .compactMap { body?[$0] }
    if let token = body?["AuthParameters"]?["REFRESH_TOKEN"] { tokens.append(token) }
    if let device = body?["DeviceCode"].flatMap(number).flatMap({ devices[$0] }),
      device.server != server
    {
      world.violate(
        .staysWithIssuer, "the device code of \(device.server) was sent to \(server)")
    }
    for token in tokens {
      guard let given = number(token).flatMap({ given[$0] }), given.user.server != server else {
        continue
      }
      world.violate(
        .staysWithIssuer,
        "what the user pool \(given.user.server) gave was sent to \(server)")
    }
  }

  /// A request arrives. It may be carried out though its reply is lost.
  ///
  /// - Parameters:
  ///   - process: that sent it.
  ///   - isProvider: whether a provider of OpenID Connect is asked.
  /// - Returns: the refresh token that it used up, if it did.
  func reply(
    _ operation: String, _ body: JSONValue?, _ server: String, _ process: Int,
    isProvider: Bool = false
  ) -> (reply: HTTPReply, replaced: Int?) {
    staysWithIssuer(body, server)
    switch operation {
    case "Discovery": return (discovery(server), nil)
    case "ExchangeCode": return (exchange(body, server), nil)
    case "StartDevice": return (startDevice(body, server), nil)
    case "PollDevice": return (poll(body, server), nil)
    case "InitiateAuth": return (begin(body, server), nil)
    case "RespondToAuthChallenge": return (respond(body), nil)
    case "GetTokensFromRefreshToken": return renew(body, process, isProvider: isProvider)
    case "RevokeToken":
      if let given = body?["Token"].flatMap(number).flatMap({ given[$0] }) {
        families[given.family]?.tokens.revokeAll()
      }
      return (.plain(200, "{}"), nil)
    case "AssociateSoftwareToken", "VerifySoftwareToken": return (setUpApp(operation, body), nil)
    case "SignUp":
      return (.userPool("UsernameExistsException", "User already exists"), nil)
    default: return (own(operation, body), nil)
    }
  }

  func number(_ value: JSONValue) -> Int? {
    value.text.flatMap { HistorySecret.numbers(in: $0.utf8).first ?? nil }
  }

  func add(_ kind: Given.Kind, _ user: User, _ family: Int, lifetime: Double) -> Int {
    let number = upstreams.nextNumber()
    given[number] = Given(
      kind: kind, user: user, family: family, ends: world.later(lifetime))
    return number
  }
}

extension HTTPReply {
  static func userPool(_ type: String, _ message: String) -> HTTPReply {
    HTTPReply(status: 400, body: Secret(#"{"__type":"\#(type)","message":"\#(message)"}"#))
  }

  static let wrongPassword = userPool(
    "NotAuthorizedException", "Incorrect username or password.")
}
