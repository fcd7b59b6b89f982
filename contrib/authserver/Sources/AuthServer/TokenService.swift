public import AuthCore
public import AuthStore
public import Logging
import Synchronization

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

/// Answers token callbacks: decides, asks Cognito, remembers.
public final class TokenService: Sendable {
  private let configuration: AuthCore.Configuration
  private let store: AuthStore
  private let cognito: any Cognito
  private let quota: QuotaGate
  private let audit: AuditLog
  let gate: HostGate
  private let metrics: Metrics
  private let log: Logger
  private let now: @Sendable () -> Timestamp

  private struct State {
    var cache = TokenCache()
    /// One call of Cognito for each token, however many callbacks wait for it.
    var flights: [TokenCache.Key: Task<CognitoToken, any Error>] = [:]
  }
  private let state = Mutex(State())

  public init(
    configuration: AuthCore.Configuration, store: AuthStore, cognito: any Cognito,
    quota: QuotaGate, audit: AuditLog, metrics: Metrics, log: Logger,
    now: @escaping @Sendable () -> Timestamp
  ) {
    self.configuration = configuration
    self.store = store
    self.cognito = cognito
    self.quota = quota
    self.audit = audit
    gate = HostGate(store: store, audit: audit, now: now)
    self.metrics = metrics
    self.log = log
    self.now = now
  }

  /// For whom a token is asked, once that is decided.
  struct Grant: Sendable {
    var user: Identifier
    var pool: AuthCore.Configuration.Pool
    /// The enrolled host, or the address of a client of the sample protocol.
    var source: String
    var means: String
    var recorded: String?
    var claimed: String?
    var logins: [String: String] = [:]
    var mayAdoptGuests = false
    var origin = RequestOrigin()

    func note(_ event: String, _ more: [String: String] = [:], at now: Timestamp) -> AuditNote {
      let members = ["host": source, "user": user.text, "pool": pool.name, "means": means]
      return AuditNote(event, origin.members(members.merging(more) { $1 }), at: now)
    }

    /// A token that is at hand can be had as often as somebody likes.
    var whoAsks: String {
      "\(source) \(user.text) \(pool.name) \(origin.address) \(origin.token ?? "")"
    }
  }

  func token(for call: TokenCall) async throws -> TokenAnswer {
    let user = try Self.identifier(call.user)
    let pool = configuration.pool(withID: call.identityPoolID)
    let ticket = call.session.map { Ticket($0, .session) }
    let facts = try await store.facts(
      of: call.proof, session: ticket ?? nil, user: user.text, pool: pool?.name ?? "", now: now())
    guard let facts, facts.host.isValid(at: now()) else {
      metrics.count("credd_authserver_tokens_total", "result=\"refused\"")
      throw try await gate.refusal(of: call.proof, call.origin)
    }
    do {
      let decision = try decide(call, user, pool, facts, now())
      guard let pool else { throw Refusal.notVouched }
      var grant = Grant(
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
        token: try await issue(grant, isForced: call.isForced, notes),
        hostExpires: facts.host.expires)
    } catch let refusal as Refusal where [401, 403].contains(refusal.status) {
      metrics.count("credd_authserver_tokens_total", "result=\"refused\"")
      let members = [
        "host": facts.host.name, "user": user.text, "pool": pool?.name ?? "unknown",
        "reason": refusal.code,
      ]
      try await audit.write(
        [AuditNote("refused", call.origin.members(members), at: now())],
        from: "\(facts.host.name) \(call.origin.source)")
      throw refusal
    }
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

  /// Gives a token to who may have it, the one at hand where it is young.
  func issue(
    _ grant: Grant, isForced: Bool, _ notes: [AuditNote] = []
  ) async throws -> CognitoToken {
    let key = TokenCache.Key(
      host: grant.source, user: grant.user, pool: grant.pool.name, logins: grant.logins,
      duration: grant.pool.tokenDuration.milliseconds)
    // An administrator may have given the user another identity, on any server.
    if !isForced, let kept = state.withLock({ $0.cache.token(for: key, at: now()) }),
      kept.identityID == grant.recorded
    {
      metrics.count("credd_authserver_tokens_total", "result=\"reused\"")
      let note = grant.note("tokenReused", ["identityId": kept.identityID], at: now())
      try await audit.write(notes + [note], from: grant.whoAsks, isWhole: true)
      return CognitoToken(identityID: kept.identityID, token: kept.token)
    }
    let (flight, isFirst) = state.withLock { state in
      if let flight = state.flights[key] { return (flight, false) }
      let flight = Task(executorPreference: LoopExecutor.current) {
        try await self.fetch(grant, key, notes)
      }
      state.flights[key] = flight
      return (flight, true)
    }
    let token = try await flight.value
    if !isFirst {
      let note = grant.note("tokenReused", ["identityId": token.identityID], at: now())
      try await audit.write(notes + [note], from: grant.whoAsks, isWhole: true)
    }
    return token
  }

  private func fetch(
    _ grant: Grant, _ key: TokenCache.Key, _ notes: [AuditNote]
  ) async throws -> CognitoToken {
    defer { state.withLock { $0.flights[key] = nil } }
    do {
      var notes = notes
      try await quota.enter(host: grant.source)
      let identityID = try await identityToAskFor(grant, &notes)
      let asked = now()
      let token = try await ask(grant, identityID, &notes)
      let changed = grant.recorded != nil && grant.recorded != token.identityID
      if changed {
        notes.append(
          grant.note(
            "identityChanged", ["from": grant.recorded ?? "", "to": token.identityID], at: now()))
        state.withLock { $0.cache.forget(grant.user) }
      }
      notes.append(grant.note("token", ["identityId": token.identityID], at: now()))
      let record = IdentityRecord(
        pool: grant.pool.name, user: grant.user, identityID: token.identityID)
      // Nobody gets a token that the audit does not know of.
      try await audit.write(notes, identities: grant.recorded == token.identityID ? [] : [record])
      let kept = TokenCache.Token(
        identityID: token.identityID, token: token.token, received: asked,
        lifetime: grant.pool.tokenDuration)
      state.withLock { $0.cache.keep(kept, for: key, at: now()) }
      metrics.count("credd_authserver_tokens_total", "result=\"new\"")
      return token
    } catch let failure as CognitoFailure {
      metrics.count("credd_authserver_tokens_total", "result=\"upstream\"")
      log.warning(
        "cognito did not give a token",
        metadata: [
          "code": "\(failure.code)", "reason": "\(failure.message)", "pool": "\(grant.pool.name)",
          "user": "\(grant.user.text)",
        ])
      throw Self.refusal(failure, hasLogins: !grant.logins.isEmpty)
    }
  }

  /// The claimed IdentityId, if the records or Cognito bear it out; nil for Cognito to find the
  /// user's own.
  private func identityToAskFor(
    _ grant: Grant, _ notes: inout [AuditNote]
  ) async throws -> String? {
    guard let claimed = grant.claimed else { return nil }
    var choice: IdentityChoice.Choice
    switch IdentityChoice.question(claimed: claimed, recorded: grant.recorded) {
    case .none:
      choice = IdentityChoice.choose(claimed: claimed, recorded: grant.recorded)
    case .owner(let id):
      guard CognitoSyntax.isID(id),
        CognitoSyntax.region(ofID: id)
          == CognitoSyntax.region(ofID: grant.pool.identityPoolID)
      else {
        notes.append(ignored(grant, .unknownToCognito))
        return nil
      }
      let owners = try await cognito.users(ofIdentity: id, pool: grant.pool)
      let logins =
        owners?.isEmpty == true ? try await cognito.logins(ofIdentity: id, pool: grant.pool) : []
      choice = IdentityChoice.choose(
        claimed: id, for: grant.user, owners: logins == nil ? nil : owners, logins: logins ?? [],
        mayAdoptGuests: grant.mayAdoptGuests)
      if owners?.isEmpty == true, case .ask(let id?) = choice,
        !(try await store.adopt(id, pool: grant.pool.name, for: grant.user))
      {
        choice = .ignore(.othersIdentity)
      }
    }
    switch choice {
    case .ask(let id): return id
    case .ignore(let reason):
      notes.append(ignored(grant, reason))
      return nil
    }
  }

  private func ignored(_ grant: Grant, _ reason: IdentityChoice.Reason) -> AuditNote {
    let claimed = grant.claimed.map { CognitoSyntax.isID($0) ? $0 : "malformed" } ?? ""
    return grant.note(
      "identityIgnored",
      ["claimed": claimed, "own": grant.recorded ?? "", "reason": reason.rawValue], at: now())
  }

  private func ask(
    _ grant: Grant, _ identityID: String?, _ notes: inout [AuditNote]
  ) async throws -> CognitoToken {
    if let identityID {
      if let token = try await tokenOf(identityID, grant) { return token }
      // The user has an identity already, or this one is gone: Cognito finds the user's own.
      notes.append(ignored(grant, .recordedOther))
      try await quota.enter(host: grant.source)
    }
    return try await cognito.token(
      pool: grant.pool, user: grant.user.text, logins: grant.logins, identityID: nil)
  }

  /// Nil where the identity cannot be the user's.
  private func tokenOf(
    _ identityID: String, _ grant: Grant
  ) async throws(CognitoFailure) -> CognitoToken? {
    do {
      return try await cognito.token(
        pool: grant.pool, user: grant.user.text, logins: grant.logins, identityID: identityID)
    } catch {
      guard
        ["DeveloperUserAlreadyRegisteredException", "ResourceNotFoundException"]
          .contains(error.code)
      else { throw error }
      return nil
    }
  }

  static func refusal(_ failure: CognitoFailure, hasLogins: Bool) -> Refusal {
    switch failure.code {
    case "TooManyRequestsException", "LimitExceededException":
      return Refusal(
        429, "Throttled", "Cognito's quota is used up for the moment",
        retryAfter: Int.random(in: 2...6))
    case "ResourceConflictException":
      return Refusal(
        409, "IdentityConflict",
        "a login is linked to another identity: 'credd-authserver link' on the server shows and "
          + "merges them")
    case "NotAuthorizedException" where hasLogins, "InvalidParameterException" where hasLogins:
      return Refusal(
        400, "LoginsRejected",
        "Cognito refuses a token in Logins, or a provider that the pool does not have")
    case "ResourceNotFoundException", "InvalidParameterException", "NotAuthorizedException",
      "ValidationException", "DeveloperUserAlreadyRegisteredException":
      return Refusal(
        500, "PoolMisconfigured", "Cognito refuses the server's request: its log says why")
    default:
      return Refusal(
        503, "CognitoUnavailable",
        "Cognito gives no token for the moment: the server's log says why",
        retryAfter: 5)
    }
  }
}
