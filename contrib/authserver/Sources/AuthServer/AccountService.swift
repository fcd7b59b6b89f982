public import AuthCore
public import AuthStore
public import Logging

/// Registration, sign-in and sign-out.
public struct AccountService: Sendable {
  let configuration: AuthCore.Configuration
  let store: AuthStore
  let hasher: PasswordHasher
  let passwords: PasswordFile
  let audit: AuditLog
  let gate: HostGate
  let log: Logger
  let now: @Sendable () -> Timestamp

  public init(
    configuration: AuthCore.Configuration, store: AuthStore, hasher: PasswordHasher,
    passwords: PasswordFile, audit: AuditLog, log: Logger,
    now: @escaping @Sendable () -> Timestamp
  ) {
    self.configuration = configuration
    self.store = store
    self.hasher = hasher
    self.passwords = passwords
    self.audit = audit
    self.log = log
    gate = HostGate(store: store, audit: audit, now: now)
    self.now = now
  }

  /// - Parameter address: of a client on the network; nil where a proxy stands before the server.
  func register(
    username: String, password: String, invitation: String?, from address: String?,
    origin: RequestOrigin
  ) async throws -> String {
    let ticket = try checkInvitation(invitation)
    let user = try newUser(username)
    if let fault = passwords.rules.fault(of: password, username: username) {
      throw Refusal(400, "InvalidPassword", fault)
    }
    if let address { try await pause(.init(registrationFrom: address)) }
    if let ticket, !(try await store.isInvited(user, by: ticket, now: now())) {
      throw Self.invitationUnknown
    }
    let hash = try await hasher.hash(password, places: Limits.waitingHashes / 2)
    let outcome = try await store.register(
      user, password: hash, invitation: ticket, avoidsEnrolments: configuration.sharedNames,
      now: now(), trail: audit.trail("registered", origin.members(["user": user.text])))
    switch outcome {
    case .done: break
    case .nameTaken, .nameCovered:
      throw Refusal(409, "UsernameExists", "there is an account of that name, or one like it")
    case .invitationUnknown: throw Self.invitationUnknown
    }
    if let lookalike = user.lookalike {
      log.warning(
        "a new account may be taken for another one",
        metadata: ["user": "\(user.text)", "reason": "the name \(lookalike)"])
    }
    return username
  }

  private static let invitationUnknown = Refusal(
    403, "InvitationUnknown", "the invitation is unknown, used, too old, or for another name")

  private func checkInvitation(_ invitation: String?) throws(Refusal) -> Ticket? {
    switch configuration.registration {
    case .closed: throw Refusal(403, "RegistrationClosed", "an administrator makes accounts here")
    case .open: return nil
    case .invite:
      guard let invitation, let ticket = Ticket(invitation, .invitation) else {
        throw Refusal(403, "InvitationUnknown", "an invitation is needed to register")
      }
      return ticket
    }
  }

  private func newUser(_ username: String) throws(Refusal) -> Identifier {
    do {
      return try Identifier(
        registering: username, as: .account, shared: configuration.sharedNames)
    } catch {
      throw Refusal(400, "InvalidUsername", "the user name \(error.reason)")
    }
  }

  /// Counts a try, or refuses it.
  private func pause(_ keys: Guesses.Keys) async throws {
    guard let pause = try await store.beginGuess(keys, now: now()) else { return }
    throw Refusal.tooManyAttempts(pause)
  }

  /// - Returns: the sign-in's token, and who signed in.
  func login(
    on asking: AskingHost, username: String, password: String, provider: String?
  ) async throws -> (session: String, identifier: String) {
    let origin = asking.origin
    let host = try await gate.host(asking)
    let keys = Guesses.Keys(user: "account:" + username, source: host.name)
    let provider = try await gate.noting(host, origin) {
      let provider = try self.provider(provider, of: host)
      try await pause(keys)
      return provider
    }
    let user = try await user(username)
    // One hash, whoever asks for whom: the time says nothing about the user.
    let mayHere = user.map { host.maySignIn($0.name) } ?? false
    let isRight = try await hasher.verify(
      String(password.unicodeScalars.prefix(Limits.longestPassword + 1)), user?.record.password)
    guard let user, isRight, mayHere, !user.record.isDisabled else {
      // What was typed is no name of anybody's, and may be a password: the audit does not keep it.
      let members = [
        "host": host.name, "user": user?.record.identifier ?? "unknown", "reason": "LoginFailed",
      ]
      try await audit.write([AuditNote("loginFailed", origin.members(members), at: now())])
      throw Refusal.loginFailed
    }
    let kept = try await renew(user.record, password)
    try await store.endGuess(keys, now: now())
    return try await open(user.record.identifier, on: host, provider, password: kept, origin)
  }

  private func provider(_ provider: String?, of host: Enrolment) throws(Refusal) -> String {
    let providers = Set(host.pools.compactMap { configuration.pools[$0]?.developerProvider })
    if let provider, providers.contains(provider) { return provider }
    if provider == nil, providers.count == 1, let only = providers.first { return only }
    throw Refusal(
      400, "InvalidRequest", "DeveloperProviderName is not a provider of a pool of this host")
  }

  private func user(_ username: String) async throws -> (record: UserRecord, name: String)? {
    guard
      let identifier = try? Identifier(
        registering: username, as: .account, shared: configuration.sharedNames),
      let record = try await store.user(matching: identifier)
    else { return nil }
    // As it was registered; shared_names may have been another then.
    return try (record, Identifier(record.identifier).name)
  }

  /// A hash of other parameters is made anew, now that the password is at hand.
  ///
  /// - Returns: what is kept of the password now.
  private func renew(_ user: UserRecord, _ password: String) async throws -> String {
    let old = user.password ?? ""
    guard hasher.isOutdated(old) else { return old }
    let hash = try await hasher.hash(password)
    return try await store.replacePassword(old, by: hash, of: user.identifier) ? hash : old
  }

  private func open(
    _ identifier: String, on host: Enrolment, _ provider: String, password: String,
    _ origin: RequestOrigin
  ) async throws -> (session: String, identifier: String) {
    var random = SystemRandomNumberGenerator()
    let ticket = Ticket(.session, random: &random)
    let time = now()
    let session = SignInSession(
      id: ticket.id, hash: ticket.hash, host: host.name, identifier: identifier,
      provider: provider, created: time, expires: time + configuration.sessionLifetime)
    let trail = audit.trail("login", origin.members(["host": host.name, "user": identifier]))
    guard try await store.open(session, on: host, password: password, trail: trail) else {
      throw Refusal.loginFailed
    }
    return (ticket.text, identifier)
  }

  func logout(on asking: AskingHost) async throws {
    let time = now()
    let host = try await gate.host(asking)
    let closed = try await gate.noting(host, asking.origin) {
      guard let session = asking.session, let ticket = Ticket(session, .session),
        let closed = try await store.close(session: ticket, host: host.name, now: time)
      else { throw Refusal.sessionUnknown }
      return closed
    }
    let members = asking.origin.members(["host": host.name, "user": closed.identifier])
    try await audit.write([AuditNote("logout", members, at: time)])
  }
}
