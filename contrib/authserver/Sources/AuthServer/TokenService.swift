public import AuthCore
public import AuthStore
public import Logging

/// One token callback, read from its request.
public struct TokenCall: Sendable {
  public var proof: HostProof
  /// The text that stood where a sign-in's token stands.
  public var session: String?
  public var identityPoolID: String
  public var provider: String
  public var user: String
  public var identityID: String?
  public var logins: [String: String]
  /// `Cache-Control: no-cache`: the one at hand was refused.
  public var isForced: Bool
  var origin: RequestOrigin
}

/// A user's token for a host.
struct TokenAnswer: Sendable {
  let token: CognitoToken
  /// When the host's enrolment ends, where it does.
  let hostExpires: Timestamp?
}

/// Answers token callbacks: decides who may have a token.
public struct TokenService: Sendable {
  private let configuration: AuthCore.Configuration
  private let store: AuthStore
  private let audit: AuditLog
  let gate: HostGate
  let tokens: TokenSource
  private let metrics: Metrics
  private let now: @Sendable () -> Timestamp

  public init(
    configuration: AuthCore.Configuration, store: AuthStore, cognito: any Cognito,
    quota: QuotaGate, audit: AuditLog, metrics: Metrics, log: Logger,
    now: @escaping @Sendable () -> Timestamp
  ) {
    self.configuration = configuration
    self.store = store
    self.audit = audit
    gate = HostGate(store: store, audit: audit, now: now)
    tokens = TokenSource(
      store: store, cognito: cognito, quota: quota, audit: audit, metrics: metrics, log: log,
      now: now)
    self.metrics = metrics
    self.now = now
  }

  func token(for call: TokenCall) async throws -> TokenAnswer {
    let user = try Self.identifier(call.user)
    let pool = configuration.pool(withID: call.identityPoolID)
    let ticket = call.session.map { Ticket($0, .session) }
    let facts = try await store.facts(
      of: call.proof, session: ticket ?? nil, user: user.text, pool: pool?.name ?? "", now: now())
    guard let facts, facts.host.isValid(at: now()) else {
      metrics.count(.tokens, "refused")
      throw try await gate.refusal(of: call.proof, call.origin)
    }
    do {
      return try await gate.noting(
        facts.host, call.origin, ["user": user.text, "pool": pool?.name ?? "unknown"]
      ) {
        try await answer(call, user, pool, facts)
      }
    } catch let refusal as Refusal where [401, 403].contains(refusal.status) {
      metrics.count(.tokens, "refused")
      throw refusal
    }
  }

  private func answer(
    _ call: TokenCall, _ user: Identifier, _ pool: AuthCore.Configuration.Pool?,
    _ facts: CallbackFacts
  ) async throws -> TokenAnswer {
    let decision = try decide(call, user, pool, facts, now())
    guard let pool else { throw Refusal.notVouched }
    var grant = TokenGrant(
      user: user, pool: pool, source: facts.host.name, means: decision.means.rawValue,
      recorded: facts.identityID, claimed: call.identityID,
      mayAdoptGuests: decision.mayAdoptGuests, origin: call.origin)
    var notes: [AuditNote] = []
    if decision.mayLink {
      grant.logins = call.logins
    } else if !call.logins.isEmpty {
      let names = call.logins.keys.sorted().joined(separator: " ")
      notes.append(grant.note("loginsIgnored", ["providers": names], at: now()))
    }
    return TokenAnswer(
      token: try await tokens.token(for: grant, isForced: call.isForced, notes),
      hostExpires: facts.host.expires)
  }

  static func identifier(_ text: String) throws(Refusal) -> Identifier {
    do { return try Identifier(text) } catch {
      throw Refusal(400, "InvalidRequest", "DeveloperUserIdentifier \(error.reason)")
    }
  }

  private func decide(
    _ call: TokenCall, _ user: Identifier, _ pool: AuthCore.Configuration.Pool?,
    _ facts: CallbackFacts, _ now: Timestamp
  ) throws(Refusal) -> Vouching.Decision {
    guard call.session == nil || facts.session != nil else { throw .sessionUnknown }
    let decision = try Vouching.decide(
      facts.host, for: user, pool: pool?.name ?? "", provider: call.provider,
      session: facts.session, isAccount: facts.user?.kind == .account, at: now)
    guard call.provider == pool?.developerProvider else {
      throw Refusal(
        400, "InvalidRequest", "DeveloperProviderName is not the provider of the pool")
    }
    let developers = configuration.pools.values.lazy.map(\.developerProvider)
    if let other = call.logins.keys.sorted().first(where: { developers.contains($0) }) {
      throw Refusal(
        400, "InvalidRequest",
        "Logins names \(other), a developer provider: DeveloperUserIdentifier is the only such user"
      )
    }
    guard CognitoSyntax.areLogins(call.logins) else {
      throw Refusal(400, "InvalidRequest", "Logins has a name or a token that cannot be one")
    }
    if decision.means == .signedIn, facts.user == nil { throw .unknownUser }
    if facts.user?.isDisabled == true { throw .userDisabled }
    return decision
  }
}
