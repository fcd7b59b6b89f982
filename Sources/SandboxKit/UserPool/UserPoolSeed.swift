import FoundationEssentials
import SeededRandom

extension SandboxSeed {
  /// One user pool.
  public struct UserPool: Sendable {
    public var id: String
    var settings = PoolSettings()
    var clients: [AppClient] = []
    var users: [PoolUserSeed] = []

    public init(id: String) { self.id = id }
  }

  public static let userPoolClient = "1sandboxclient234567890abc"
  public static let userPoolSecretClient = "2sandboxclient234567890abc"
  public static let userPoolClientSecret = "sandboxclientsecret012345678901234567890abcdefghijk"
  static let userPoolPassword = "Sandbox-1"

  /// The user pool of the default seed: two clients, without and with a secret, which allow every
  /// flow; the user alice.
  static func defaultUserPool(in region: Substring) -> UserPool {
    var pool = UserPool(id: "\(region)_Sandbox")
    pool.settings.customRounds = [
      PoolSettings.CustomRound(parameters: ["question": "2 + 2"], answer: "4")
    ]
    pool.settings.mfa = .optional
    pool.settings.firstFactors = ["EMAIL_OTP", "SMS_OTP"]
    var plain = AppClient(id: userPoolClient)
    plain.flows = Set(AppClient.Flow.allCases)
    var secret = AppClient(id: userPoolSecretClient)
    secret.flows = plain.flows
    secret.secrets = [userPoolClientSecret]
    pool.clients = [plain, secret]
    var alice = PoolUserSeed(username: "alice")
    alice.password = userPoolPassword
    alice.attributes = ["email": "alice@example.com", "email_verified": "true"]
    pool.users = [alice]
    return pool
  }
}

extension SandboxSeed.UserPool {
  init(_ reader: FieldReader) throws(ServiceError) {
    var fields = reader
    self.init(id: try fields.text("Id"))
    guard UserPoolName(id: id).isValid else { throw fields.fault("Id", "must be REGION_NAME") }
    for client in try fields.objects("Clients") ?? [] {
      var client = client
      var new = AppClient(id: try client.text("ClientId"))
      guard InputRule.clientID.violation(of: new.id, at: "") == nil else {
        throw client.fault("ClientId", "must have up to 128 letters, digits, _ or +")
      }
      try new.apply(&client)
      try client.finish()
      clients.append(new)
    }
    for user in try fields.objects("Users") ?? [] {
      var user = user
      var new = PoolUserSeed(username: try user.text("Username"))
      try new.apply(&user)
      try user.finish()
      users.append(new)
    }
    try settings.apply(&fields)
    try fields.finish()
    // A trial pool, so that a user that does not fit is reported together with the seed.
    var pool = UserPool(id: id, random: SeededGenerator(seed: 0))
    pool.settings = settings
    for user in users { try pool.set(user) }
  }
}

/// A user as described in a seed or by an administrator.
struct PoolUserSeed: Sendable {
  var username: String
  var password: String?
  var status: PoolUser.Status?
  var isDisabled: Bool?
  var attributes: [String: String] = [:]
  var groups: [String]?
  var factors: [Factor]?
  var preferredFactor: Factor?
  /// Base32 of an authenticator app.
  var softwareToken: [UInt8]?
  var signsOut = false

  init(username: String) { self.username = username }

  mutating func apply(_ fields: inout FieldReader) throws(ServiceError) {
    password = try fields.optionalText("Password")
    status = try fields.choice("Status")
    isDisabled = try fields.bool("Disabled")
    attributes = try fields.map("Attributes") ?? [:]
    groups = try fields.texts("Groups")
    factors = try fields.choices("Mfa")
    preferredFactor = try fields.choice("PreferredMfa")
    signsOut = try fields.bool("SignOut") ?? false
    if let secret = try fields.optionalText("SoftwareToken") {
      guard let bytes = Base32.bytes(secret), bytes.count >= 10 else {
        throw fields.fault("SoftwareToken", "must be base32 of 10 bytes or more")
      }
      softwareToken = bytes
    }
  }
}

extension UserPool {
  init(_ seed: SandboxSeed.UserPool, random: inout SeededGenerator) {
    self.init(id: seed.id, random: SeededGenerator(seed: random.next()))
    settings = seed.settings
    for client in seed.clients { clients[client.id] = client }
    // It was checked that these users fit when the seed was read.
    for user in seed.users { try? set(user) }
  }

  /// Makes or changes a user, as an administrator does. A new user must change the password.
  mutating func set(_ seed: PoolUserSeed, at time: Date? = nil) throws(ServiceError) {
    now = time ?? now
    var user: PoolUser
    if let known = find(seed.username) {
      user = known
    } else {
      let written = seed.attributes.filter { !PoolAttributes.readOnly.contains($0.key) }
        .map { (name: $0.key, value: $0.value) }.sorted { $0.name < $1.name }
      user = try newUser(seed.username, written, status: seed.status ?? .confirmed)
    }
    user.attributes.merge(seed.attributes) { $1 }
    if let password = seed.password {
      user.verifier = verifier(of: password, for: user.username, random: &random)
      user.passwordSetAt = now
    }
    user.status = seed.status ?? user.status
    user.isDisabled = seed.isDisabled ?? user.isDisabled
    user.groups = seed.groups ?? user.groups
    if let factors = seed.factors {
      user.factors = Set(factors)
      user.preferredFactor = nil
    }
    user.preferredFactor = seed.preferredFactor ?? user.preferredFactor
    if let secret = seed.softwareToken { user.softwareToken = SoftwareToken(secret: secret) }
    try store(user)
    if seed.signsOut { sessions.end(of: user.username) }
  }
}

extension SandboxState {
  /// The user pool behind a provider of an identity pool, if the pool is in this sandbox.
  func userPool(_ provider: LoginProvider) -> UserPool? {
    userPools.values.first { $0.provider == provider.name }
  }
}
