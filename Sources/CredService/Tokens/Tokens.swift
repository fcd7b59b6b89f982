import CredCore
import Logging

/// Tokens of providers and user pools while they are renewed, and when they must be revoked.
///
/// If a pool rotates refresh tokens, a renewal that was sent may have used up the old one, and only
/// its outcome has the next one. So the outcome is never dropped.
final class Tokens {
  /// A renewal that has begun and not ended.
  struct Renewal {
    /// The sign-in to which the sent refresh token belongs.
    let tokens: ProviderSession
    /// The profile with the backend that got the refresh token.
    let profile: Profile
    /// Whether the outcome may have another refresh token.
    let mayReplaceToken: Bool
    /// Whether a logout wants the tokens to live.
    var isLeftAlone = false
    /// A sign-out that waits for the tokens.
    var next: ((UpstreamOutcome) -> Void)?
  }

  private var renewals: [CallID: Renewal] = [:]
  /// Set when the daemon ends: no call begins any more.
  private(set) var isStopping = false
  /// Called at the end of all renewals.
  private var whenEnded: (() -> Void)?
  private var timer: (any Timer)?
  private let host: Host
  private let configuration: ConfigurationInForce
  private let sessions: SessionTable

  init(host: Host, configuration: ConfigurationInForce, sessions: SessionTable) {
    self.host = host
    self.configuration = configuration
    self.sessions = sessions
    timer = host.clock.makeTimer { [unowned self] in stopWaiting() }
  }

  // MARK: Renewals

  func began(_ call: CallID, _ tokens: ProviderSession, _ way: PoolRenewalWay, _ profile: Profile) {
    renewals[call] = Renewal(
      tokens: tokens, profile: profile.giving(tokens),
      mayReplaceToken: tokens.issuer.traits.rotatesAlone || way.mayReplaceToken)
  }

  var isAnyUnderWay: Bool { !renewals.isEmpty }

  func isUnderWay(_ call: CallID) -> Bool { renewals[call] != nil }

  /// Removes and returns the renewal that ends with the call; nil for another call.
  func takeRenewal(_ call: CallID) -> Renewal? {
    renewals.isEmpty ? nil : renewals.removeValue(forKey: call)
  }

  /// Call it after the session has taken the outcome. Tokens that the session does not hold are
  /// revoked.
  func ended(_ renewal: Renewal, _ outcome: UpstreamOutcome, _ session: Session) {
    if isStopping {
      if renewals.isEmpty { stopWaiting() }
      return
    }
    if let next = renewal.next { return next(outcome) }
    guard !renewal.isLeftAlone,
      let tokens = renewal.tokens.shown(by: outcome, at: host.clock.now),
      session.hasEnded || !session.machine.holds(tokens.refreshToken)
    else { return }
    revoke(tokens, of: session, givenBy: renewal.profile)
  }

  /// Notes that a logout wants the tokens of the renewal to live.
  func leaveAlone(_ call: CallID) { renewals[call]?.isLeftAlone = true }

  /// Signs out after the renewal under way has ended, with the tokens that the session then has. A
  /// renewal that was not sent is cancelled.
  func afterRenewal(
    _ call: CallID?, _ signOut: BackendSignOut, _ then: @escaping (BackendSignOut) -> Void
  ) {
    // The renewal may belong to another sign-in of the session.
    guard let call, let renewal = renewals[call],
      renewal.tokens.refreshToken == signOut.providerSession?.refreshToken
    else { return then(signOut) }
    if host.upstream.withdraw(call) {
      renewals[call] = nil
      return then(signOut)
    }
    renewals[call]?.next = { [unowned self] outcome in
      then(signOut.continued(by: outcome, at: host.clock.now))
    }
  }

  // MARK: Revocation

  /// Revokes the tokens of a session before it ends without a logout.
  func revokeAll(of session: Session) {
    for tokens in session.machine.providerSessions { revoke(tokens, of: session) }
  }

  /// Revokes tokens that no session has any more, in the background.
  ///
  /// - Parameters:
  ///   - profile: the profile with the backend that gave the tokens; nil for the session's profile.
  ///   - former: during a reload, the session's profile before the reload. The new profile may have
  ///     another certificate authority for the addresses.
  func revoke(
    _ tokens: ProviderSession, of session: Session, givenBy profile: Profile? = nil,
    former: Profile? = nil
  ) {
    guard !isStopping, !tokens.refreshToken.isEmpty, !goesOn(tokens, of: session.key.uid)
    else { return }
    let own = former ?? session.profile
    let giver = [profile, own].lazy.compactMap { $0?.giving(tokens) }
      .first { $0.plan.backend.issuer == tokens.issuer }
    revoke(
      BackendSignOut(
        sessions.nextCallID(), session, isGlobal: false, tokens: tokens,
        of: giver ?? profile ?? own))
  }

  /// Revokes tokens that came after the end of their sign-in, which nobody has.
  func revokeLate(
    _ tokens: ProviderSession, of key: SessionKey, at profile: Profile, _ user: UnixUser
  ) {
    guard !isStopping, !goesOn(tokens, of: key.uid) else { return }
    revoke(BackendSignOut(sessions.nextCallID(), key, profile, user, of: tokens))
  }

  /// Revokes tokens that a stored session has and the restored one does not have, if the
  /// configuration still has the backend. The former process could not know that they would be
  /// dropped.
  ///
  /// - Parameter kept: the restored session; nil if nothing was restored.
  func revokeDropped(of key: SessionKey, _ record: SessionRecord, keeping kept: SessionSnapshot?) {
    let held = kept?.providerSessions ?? []
    for tokens in record.snapshot.providerSessions
    where !tokens.refreshToken.isEmpty
      && !held.contains(where: { $0.refreshToken == tokens.refreshToken })
    {
      guard let giver = configuration.current.giver(of: tokens, for: key.profile),
        record.has(tokens, from: giver)
      else { continue }
      let user = UnixUser(uid: key.uid, name: record.owner.name)
      revoke(BackendSignOut(sessions.nextCallID(), key, giver, user, of: tokens))
    }
  }

  /// Revokes a refresh token in the background. If that fails, the token stays valid, but nobody
  /// has it.
  func revoke(_ signOut: BackendSignOut) {
    let metadata: Logger.Metadata = [
      "profile": "\(signOut.key.profile)", "uid": "\(signOut.key.uid)",
    ]
    host.upstream.signOut(signOut) { [log = host.log] failure in
      guard let failure else { return }
      var metadata = metadata
      metadata["code"] = "\(failure.code.rawValue)"
      log.log(
        .tokensNotRevoked, failure.severity == .operatorMustAct ? .warning : .info,
        "a refresh token was dropped but not revoked: \(failure.summary)", metadata)
    }
  }

  /// Whether the Unix user still has other tokens of the same person at the same provider. When one
  /// token is revoked, a provider may end all of them (RFC 7009, 2.1; Auth0, where revocation
  /// deletes the grant). So the token is left to expire. Tokens of an unknown user may be that
  /// person's. A user pool ends only the tokens of one sign-in.
  private func goesOn(_ tokens: ProviderSession, of uid: UInt32) -> Bool {
    guard !tokens.issuer.traits.endsOneSignInAlone else { return false }
    return configuration.profileNames.contains { name in
      sessions[SessionKey(uid: uid, profile: name)]?.machine.providerSessions.contains {
        ($0.isOfSameUser(as: tokens) || tokens.subject == nil && $0.issuer == tokens.issuer)
          && !$0.refreshToken.isEmpty
          && $0.refreshToken != tokens.refreshToken
      } ?? false
    }
  }

  // MARK: The end of the daemon

  /// From now on no session begins a call. Renewals that were not sent are cancelled. The daemon
  /// does not wait for renewals that bring no other refresh token: the next daemon makes them
  /// again.
  func stop() {
    isStopping = true
    for call in renewals.keys.sorted() {
      let isTakenBack = host.upstream.withdraw(call)
      if isTakenBack || renewals[call]?.mayReplaceToken == false { renewals[call] = nil }
    }
  }

  /// Calls `body` once: when the renewals that were sent have ended and their tokens are stored, or
  /// after `limit`.
  func afterRenewals(atMost limit: Duration, _ body: @escaping () -> Void) {
    guard !renewals.isEmpty else { return body() }
    host.log.info(
      """
      waiting up to \(limit.components.seconds) s for new tokens that user pools or providers were \
      asked for: \(renewals.count)
      """)
    whenEnded = body
    timer?.arm(at: host.clock.now + limit)
  }

  private func stopWaiting() {
    guard let end = whenEnded.take() else { return }
    if !renewals.isEmpty {
      host.log.warning(
        """
        new tokens did not arrive in time: \(renewals.count) users may have to sign in again, \
        if the user pool or provider replaces refresh tokens
        """)
    }
    end()
  }
}

extension ResolvedConfiguration {
  /// A profile that, in the present configuration, signs in where these tokens come from: the named
  /// profile, or another one. Nil if there is none.
  fileprivate func giver(of tokens: ProviderSession, for name: String) -> Profile? {
    let others = profileNames.filter { $0 != name }
    for profile in ([name] + others).lazy.compactMap({ profiles[$0] }) {
      let giver = profile.giving(tokens)
      if giver.plan.backend.issuer == tokens.issuer { return giver }
    }
    // No profile uses the backend any more.
    guard let profile = profiles[name] ?? profileNames.first.flatMap({ profiles[$0] }) else {
      return nil
    }
    return configuration.backends.keys.sorted().lazy
      .compactMap { profile.signingIn(at: $0, in: configuration) }
      .first { $0.plan.backend.issuer == tokens.issuer }
  }
}
