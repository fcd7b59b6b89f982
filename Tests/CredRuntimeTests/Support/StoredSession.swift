import CredCore
import Testing

/// A session with something to store.
enum StoredSession {
  /// Signed in by a token at hand; `secret` is in its token.
  static func record(_ uid: UInt32, _ secret: String) throws -> SessionRecord {
    let profile = try profile()
    return SessionRecord(
      uid: uid, owner: .named("user\(uid)"), profile: profile,
      snapshot: try snapshot(secret, profile))
  }

  static func profile() throws -> Profile { try parsed.get() }

  /// Parsed once: thousands of records have it.
  private static let parsed = Result {
    let text = "[profile p]\nidentity_pool_id = us-east-1:11111111-2222-3333-4444-555555555555\n"
    let reading = Configuration.read(
      [ConfigurationSource(name: "credd.conf", bytes: Array(text.utf8))], environment: { _ in nil })
    let configuration = try #require(reading.configuration)
    let settings = try #require(configuration.profiles["p"])
    return try Profile(settings, in: configuration, groupID: { _ in nil })
  }

  static func snapshot(_ secret: String, _ profile: Profile) throws -> SessionSnapshot {
    var callIDs = CallIDs()
    var random = SystemRandomNumberGenerator()
    let now = Instant.seconds(1)
    let identity = try IdentityID("us-east-1:00000000-1111-2222-3333-444444444444")
    var machine = SessionMachine(plan: profile.plan, now: now)
    _ = machine.handle(
      .signInRequested(
        SignInRequest(
          id: 1,
          input: .developerToken(
            identityID: identity, token: try DeveloperToken(Secret(secret))),
          deadline: now + .seconds(30))), now: now, callIDs: &callIDs, random: &random)
    let credentials = Credentials(
      accessKeyID: "ASIAEXAMPLEEXAMPLE00", secretAccessKey: Secret("key"),
      sessionToken: Secret("session"), expiration: WallTime(milliseconds: 0))
    // No jitter, so that two of them are alike.
    var none = NoChance()
    _ = machine.handle(
      .callFinished(
        try #require(machine.awaitedCall),
        .credentials(credentials, identityID: identity, lifetime: .seconds(3600))),
      now: now, callIDs: &callIDs, random: &none)
    return machine.snapshot
  }

  private struct NoChance: RandomNumberGenerator {
    mutating func next() -> UInt64 { 0 }
  }
}
