import AuthCore
import AuthStore
import Logging
import Synchronization

/// For whom a token is asked, once that is decided.
struct TokenGrant: Sendable {
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
    "\(source) \(user.text) \(pool.name) \(origin.address) "
      + (origin.certificate?.fingerprint ?? origin.token ?? "")
  }
}

/// Gives tokens of Cognito's: asks for them once, and remembers them.
final class TokenSource: Sendable {
  private let store: AuthStore
  private let cognito: any Cognito
  private let quota: QuotaGate
  private let audit: AuditLog
  private let metrics: Metrics
  private let log: Logger
  private let now: @Sendable () -> Timestamp

  private struct State {
    var cache = TokenCache()
    /// One call of Cognito for each token, however many callbacks wait for it.
    var flights: [TokenCache.Key: Task<CognitoToken, any Error>] = [:]
  }
  private let state = Mutex(State())

  init(
    store: AuthStore, cognito: any Cognito, quota: QuotaGate, audit: AuditLog, metrics: Metrics,
    log: Logger, now: @escaping @Sendable () -> Timestamp
  ) {
    self.store = store
    self.cognito = cognito
    self.quota = quota
    self.audit = audit
    self.metrics = metrics
    self.log = log
    self.now = now
  }

  /// Gives a token to who may have it, the one at hand where it is young.
  func token(
    for grant: TokenGrant, isForced: Bool, _ notes: [AuditNote] = []
  ) async throws -> CognitoToken {
    let key = TokenCache.Key(
      host: grant.source, user: grant.user, pool: grant.pool.name, logins: grant.logins,
      duration: grant.pool.tokenDuration.milliseconds)
    // An administrator may have given the user another identity, on any server.
    if !isForced, let kept = state.withLock({ $0.cache.token(for: key, at: now()) }),
      kept.identityID == grant.recorded
    {
      metrics.count(.tokens, "reused")
      let note = grant.note("tokenReused", ["identityId": kept.identityID], at: now())
      try await audit.write(notes + [note], from: .asker(grant.whoAsks))
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
      try await audit.write(notes + [note], from: .asker(grant.whoAsks))
    }
    return token
  }

  private func fetch(
    _ grant: TokenGrant, _ key: TokenCache.Key, _ notes: [AuditNote]
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
      metrics.count(.tokens, "new")
      return token
    } catch let failure as CognitoFailure {
      metrics.count(.tokens, "upstream")
      log.warning(
        "cognito did not give a token",
        metadata: [
          "code": "\(failure.code)", "reason": "\(failure.message)", "pool": "\(grant.pool.name)",
          "user": "\(grant.user.text)",
        ])
      throw Refusal(failure, hasLogins: !grant.logins.isEmpty)
    }
  }
}

extension TokenSource {
  /// The claimed IdentityId, if the records or Cognito bear it out; nil for Cognito to find the
  /// user's own.
  private func identityToAskFor(
    _ grant: TokenGrant, _ notes: inout [AuditNote]
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

  private func ignored(_ grant: TokenGrant, _ reason: IdentityChoice.Reason) -> AuditNote {
    let claimed = grant.claimed.map { CognitoSyntax.isID($0) ? $0 : "malformed" } ?? ""
    return grant.note(
      "identityIgnored",
      ["claimed": claimed, "own": grant.recorded ?? "", "reason": reason.rawValue], at: now())
  }

  private func ask(
    _ grant: TokenGrant, _ identityID: String?, _ notes: inout [AuditNote]
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
    _ identityID: String, _ grant: TokenGrant
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
}

extension Refusal {
  /// What a failure of Cognito's means to the host.
  fileprivate init(_ failure: CognitoFailure, hasLogins: Bool) {
    switch failure.code {
    case "TooManyRequestsException", "LimitExceededException":
      self.init(
        429, "Throttled", "Cognito's quota is used up for the moment",
        retryAfter: Int.random(in: 2...6))
    case "ResourceConflictException":
      self.init(
        409, "IdentityConflict",
        "a login is linked to another identity: 'credd-authserver link' on the server shows and "
          + "merges them")
    case "NotAuthorizedException" where hasLogins, "InvalidParameterException" where hasLogins:
      self.init(
        400, "LoginsRejected",
        "Cognito refuses a token in Logins, or a provider that the pool does not have")
    case "ResourceNotFoundException", "InvalidParameterException", "NotAuthorizedException",
      "ValidationException", "DeveloperUserAlreadyRegisteredException":
      self.init(
        500, "PoolMisconfigured", "Cognito refuses the server's request: its log says why")
    default:
      self.init(
        503, "CognitoUnavailable",
        "Cognito gives no token for the moment: the server's log says why",
        retryAfter: 5)
    }
  }
}
