extension SessionMachine {
  /// Makes the next call of an attempt from what the session holds.
  mutating func proceed(_ attempt: Attempt, _ turn: inout Turn) {
    guard let call = nextCall(for: attempt, turn.now) else { return work = .idle }
    make(call, for: attempt, &turn)
  }

  /// Makes a call, whose answer is then the only one that is awaited.
  mutating func make(_ call: UpstreamCall, for attempt: Attempt, _ turn: inout Turn) {
    var attempt = attempt
    lastCall += 1
    attempt.call = lastCall
    work = .fetching(attempt)
    turn.actions.append(.call(attempt.call, call))
  }

  private func nextCall(for attempt: Attempt, _ now: Instant) -> UpstreamCall? {
    let readsFile = plan.tokenFileProvider != nil && !attempt.hasReadTokenFile
    switch means {
    case nil: return nil
    case .backend(_, let session):
      if attempt.goal == .credentials, let token, isUsable(token, now), let identityID {
        return exchange(token, identityID)
      }
      if readsFile { return .readTokenFile }
      return .tokenCallback(identityID: identity(for: attempt), logins: logins, session: session)
    case .token:
      guard let token, let identityID else { return nil }
      return exchange(token, identityID)
    case .tokenFile where readsFile: return .readTokenFile
    // Logins were added to the one of the file, which somebody else keeps fresh.
    case .logins where readsFile && plan.tokenFileProvider.flatMap { logins[$0] } != nil:
      return .readTokenFile
    case .logins, .tokenFile: return directCall(logins, attempt)
    case .guest: return directCall(LoginsMap(), attempt)
    }
  }

  /// The identity that a backend is told of.
  private func identity(for attempt: Attempt) -> IdentityID? {
    if attempt.remedies.contains(.withoutIdentity) { return nil }
    switch standing {
    // A client said whose that one is. Told of it, a backend would link its own user with it.
    case .signedIn(.developerToken), .tokensInvalid(.developerToken): return nil
    default: return identityID
    }
  }

  /// A developer token for credentials.
  private func exchange(_ token: HeldToken, _ identityID: IdentityID) -> UpstreamCall {
    switch plan.flow {
    case .enhanced:
      .getCredentials(
        identityID: identityID,
        logins: LoginsMap(developerToken: token.token, key: plan.developerLoginKey),
        customRoleARN: customRoleARN)
    case .basic: .assumeRole(identityID: identityID, token: token.token.token)
    }
  }

  /// Without a backend Cognito itself gives the identity, and in the basic flow the token.
  private func directCall(_ logins: LoginsMap, _ attempt: Attempt) -> UpstreamCall {
    guard let identityID else { return .getID(logins: logins) }
    switch (plan.flow, attempt.openIDToken) {
    case (.enhanced, _):
      return .getCredentials(
        identityID: identityID, logins: logins, customRoleARN: customRoleARN)
    case (.basic, nil): return .getOpenIDToken(identityID: identityID, logins: logins)
    case (.basic, let token?): return .assumeRole(identityID: identityID, token: token)
    }
  }

  /// A token without an expiration serves the attempt that fetched it, and no other.
  private func isUsable(_ token: HeldToken, _ now: Instant) -> Bool {
    token.usableUntil > now || (token.received == now && token.usableUntil == token.received)
  }
}
