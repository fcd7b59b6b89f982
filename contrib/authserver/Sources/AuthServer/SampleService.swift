public import AuthCore
public import AuthStore

/// The developer-authentication sample server's protocol, for the clients that speak it. Its
/// accounts are of a kind of their own, because what it keeps of a password is as good as the
/// password to it.
public struct SampleService: Sendable {
  let sample: AuthCore.Configuration.Sample
  let configuration: AuthCore.Configuration
  let store: AuthStore
  let tokens: TokenService
  let audit: AuditLog
  let now: @Sendable () -> Timestamp

  public init(
    sample: AuthCore.Configuration.Sample, configuration: AuthCore.Configuration,
    store: AuthStore, tokens: TokenService, audit: AuditLog,
    now: @escaping @Sendable () -> Timestamp
  ) {
    self.sample = sample
    self.configuration = configuration
    self.store = store
    self.tokens = tokens
    self.audit = audit
    self.now = now
  }

  private var sampleProtocol: SampleProtocol {
    SampleProtocol(appName: sample.appName, host: sample.hostName)
  }

  /// All that can be wrong with a signature reads alike.
  private static let mismatch = Refusal(401, "Unauthorized", "Error matching signature")

  private static func missing(_ name: String) -> Refusal {
    Refusal(400, "InvalidRequest", "\(name) is missing or malformed")
  }

  public func register(_ form: FormValues, from address: String) async throws -> String {
    guard configuration.registration == .open else {
      throw Refusal(403, "RegistrationClosed", "registration is closed")
    }
    guard let username = form["username"], SampleProtocol.isUsername(username) else {
      throw Self.missing("username")
    }
    guard let password = form["password"], (6...128).contains(password.unicodeScalars.count) else {
      throw Self.missing("password")
    }
    if let pause = try await store.beginGuess(.init(registrationFrom: address), now: now()) {
      throw Refusal.tooManyAttempts(pause)
    }
    guard let user = try? Identifier(registering: username, as: .sample) else {
      throw Self.missing("username")
    }
    let salted = sampleProtocol.salted(username: username, password: password)
    let outcome = try await store.register(
      user, password: salted, invitation: nil, avoidsEnrolments: false, now: now(),
      trail: audit.trail("registered", ["address": address, "user": user.text]))
    guard outcome == .done else { throw Refusal(406, "UsernameExists", "the user name is taken") }
    return ""
  }

  public func login(_ form: FormValues, from address: String) async throws -> String {
    guard let username = form["username"] else { throw Self.missing("username") }
    guard let timestamp = form["timestamp"] else { throw Self.missing("timestamp") }
    guard let uid = form["uid"], SampleProtocol.isDevice(uid) else { throw Self.missing("uid") }
    guard let signature = form["signature"] else { throw Self.missing("signature") }
    let keys = Guesses.Keys(user: "sample:" + username, source: address)
    if let pause = try await store.beginGuess(keys, now: now()) {
      throw Refusal.tooManyAttempts(pause)
    }
    let user =
      SampleProtocol.isUsername(username)
      ? try? Identifier(registering: username, as: .sample) : nil
    let record = if let user { try await store.user(user.text) } else { UserRecord?.none }
    guard SampleProtocol.isTimely(timestamp, at: now()), let user, let record,
      !record.isDisabled, let salted = record.password,
      SampleProtocol.loginSignature(salted: salted, timestamp: timestamp)
        .equalsInConstantTime(signature),
      try await store.useSignature(signature, of: user.text, now: now())
    else {
      let members = ["address": address, "user": record?.identifier ?? "unknown"]
      try await audit.write(
        [AuditNote("loginFailed", members, at: now())], from: .stranger(address))
      throw Self.mismatch
    }
    var random = SystemRandomNumberGenerator()
    let device = SampleDevice(
      uid: uid, identifier: user.text, key: Hex.random(bytes: 16, &random), created: now())
    let trail = audit.trail("login", ["address": address, "user": user.text, "device": uid])
    guard try await store.keep(device, password: salted, trail: trail) else { throw Self.mismatch }
    try await store.endGuess(keys, now: now())
    return try seal(SampleProtocol.loginReply(key: device.key), String(salted.prefix(32)))
  }

  private func seal(_ text: String, _ key: String) throws(Refusal) -> String {
    var random = SystemRandomNumberGenerator()
    let iv = (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) }
    guard let sealed = SampleProtocol.encrypt(text, hexKey: key, iv: iv) else {
      throw Refusal(500, "Internal", "the reply could not be encrypted")
    }
    return sealed
  }

  public func token(_ form: FormValues, from address: String) async throws -> String {
    guard let uid = form["uid"], SampleProtocol.isDevice(uid) else { throw Self.missing("uid") }
    guard let timestamp = form["timestamp"] else { throw Self.missing("timestamp") }
    guard let signature = form["signature"] else { throw Self.missing("signature") }
    let identityID = form["identityId"]
    let logins = try self.logins(form)
    guard identityID.map(CognitoSyntax.isID) ?? true else { throw Self.missing("identityId") }
    // Whoever names a device that nobody has leaves no trace: the audit would be theirs to fill.
    guard let pool = configuration.pools[sample.pool], let device = try await store.device(uid)
    else { throw Self.mismatch }
    guard SampleProtocol.isTimely(timestamp, at: now()), !device.isRevoked,
      SampleProtocol.tokenSignature(
        key: device.key, timestamp: timestamp, logins: logins, identityID: identityID
      ).equalsInConstantTime(signature),
      let user = try? Identifier(device.identifier),
      logins.allSatisfy({ $0.provider == pool.developerProvider && $0.token == user.name }),
      let record = try await store.user(user.text), !record.isDisabled,
      try await store.useSignature(signature, of: user.text, now: now())
    else { throw try await refused(uid, from: address) }
    let recorded = try await store.identities(of: user.text).first { $0.pool == pool.name }?.id
    let grant = TokenGrant(
      user: user, pool: pool, source: "sample", means: "sample", recorded: recorded,
      claimed: identityID, origin: RequestOrigin(address: address))
    let token = try await tokens.tokens.token(for: grant, isForced: false)
    return try seal(
      SampleProtocol.tokenReply(
        pool: pool.identityPoolID, identityID: token.identityID, token: token.token), device.key)
  }

  /// A few refusals of a device are in the audit, and then one a minute.
  private func refused(_ uid: String, from address: String) async throws -> Refusal {
    if let pause = try await store.beginGuess(.init(device: uid, source: address), now: now()) {
      return .tooManyAttempts(pause)
    }
    let members = ["address": address, "device": uid]
    try await audit.write([AuditNote("refused", members, at: now())], from: .host(uid, at: address))
    return Self.mismatch
  }

  /// One provider at most: two could be cut another way under the same signature.
  private func logins(
    _ form: FormValues
  ) throws(Refusal) -> [(provider: String, token: String)] {
    for name in form.names where name.hasPrefix("provider") || name.hasPrefix("token") {
      guard ["provider1", "token1"].contains(name) else {
        throw Refusal(
          400, "InvalidRequest",
          "\(name.visible): this server takes one login, provider1, of the pool's developer_provider"
        )
      }
    }
    switch (form["provider1"], form["token1"]) {
    case (nil, nil): return []
    case (let provider?, let token?)
    where CognitoSyntax.isDeveloperProvider(provider) && SampleProtocol.isUsername(token):
      return [(provider, token)]
    default: throw Self.missing("provider1 or token1")
    }
  }
}
