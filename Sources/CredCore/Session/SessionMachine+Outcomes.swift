extension SessionMachine {
  mutating func finish(_ call: CallID, _ outcome: UpstreamOutcome, _ turn: inout Turn) {
    // An answer to a call that a logout or a correction overtook: nobody waits for it.
    guard case .fetching(let attempt) = work, attempt.call == call else { return }
    switch outcome {
    case .credentials(_, _, let lifetime) where lifetime <= .zero:
      finish(call, .failed(.credentialsAreOver), &turn)
    case .signedIn(let session):
      passwordAccepted(session, attempt, &turn)
    case .fileToken(let token):
      fileRead(token, attempt, &turn)
    case .token(let identityID, let token, _) where attempt.awaitsOpenIDToken(means):
      adopt(identityID, &turn)
      var attempt = attempt
      attempt.openIDToken = token.token
      proceed(attempt, &turn)
    case .token(_, _, let lifetime?) where lifetime <= .zero:
      finish(call, .failed(.tokenIsOver), &turn)
    case .token(let identityID, let token, let lifetime):
      adopt(identityID, &turn)
      held.token = HeldToken(token, lifetime: lifetime, received: turn.now)
      if let voucher = attempt.voucher { become(.signedIn(voucher), &turn) }
      if attempt.goal == .token { succeed(&turn) } else { proceed(attempt, &turn) }
    case .identity(let identityID):
      adopt(identityID, &turn)
      proceed(attempt, &turn)
    case .credentials(let credentials, let identityID, let lifetime):
      adopt(identityID, &turn)
      become(attempt.voucher.map { .signedIn($0) } ?? .guest, &turn)
      acceptSignIn(&turn)
      held.credentials = HeldCredentials(
        credentials, lifetime: lifetime, received: turn.now, chance: turn.chance)
      refreshes += 1
      turn.actions.append(.credentialsChanged)
      turn.actions.append(.announce(.refreshed(expiration: credentials.expiration)))
      succeed(&turn)
    case .failed(let failure):
      if !awaitsPassword, let remedied = remedy(attempt, failure, &turn) {
        return proceed(remedied, &turn)
      }
      fail(attempt, failure, &turn)
    }
  }

  private mutating func succeed(_ turn: inout Turn) {
    rest()
    signInSucceeded(&turn)
  }

  private mutating func fileRead(_ token: Secret, _ attempt: Attempt, _ turn: inout Turn) {
    var attempt = attempt
    attempt.hasReadTokenFile = true
    do {
      try held.logins.set(plan.tokenFileProvider ?? "", token: token)
      proceed(attempt, &turn)
    } catch {
      fail(attempt, .notSent(error, to: .cognitoIdentity), &turn)
    }
  }

  /// What Cognito's errors ask for, each once in an attempt; nil where nothing is left to try.
  private mutating func remedy(
    _ attempt: Attempt, _ failure: UpstreamFailure, _ turn: inout Turn
  ) -> Attempt? {
    // Only a backend has another token to give.
    guard case .backend = means else { return remedyWithoutBackend(attempt, failure, &turn) }
    var attempt = attempt
    switch failure.failureClass {
    case .newTokenOnce:
      // The next attempt must not begin with it either.
      held.token = nil
      guard attempt.remedies.insert(.newToken).inserted else { return nil }
    case .dropIdentityThenNewToken:
      held.token = nil
      guard attempt.remedies.insert(.droppedIdentity).inserted else { return nil }
      adopt(nil, &turn)
    case .newIdentity:
      held.token = nil
      guard attempt.remedies.insert(.newIdentity).inserted else { return nil }
      adopt(nil, &turn)
    case .retryWithoutIdentity:
      guard attempt.remedies.insert(.withoutIdentity).inserted else { return nil }
    default:
      return nil
    }
    return attempt
  }

  /// Guests and other logins get a new identity from Cognito itself.
  private mutating func remedyWithoutBackend(
    _ attempt: Attempt, _ failure: UpstreamFailure, _ turn: inout Turn
  ) -> Attempt? {
    var attempt = attempt
    switch (failure.failureClass, means) {
    case (.newTokenOnce, _) where attempt.openIDToken != nil:
      guard attempt.remedies.insert(.newToken).inserted else { return nil }
      attempt.openIDToken = nil
    // The backend knows this user too. A sign-in with a bad token is a bad sign-in all the same.
    case (.newTokenOnce, .token) where plan.backend == .host && signIn == nil:
      guard attempt.remedies.insert(.newToken).inserted else { return nil }
      held.token = nil
      attempt.voucher = .host
    // A login that is linked to another identity, or not to this one: it is another person's, or
    // that identity is the user's.
    case (.newIdentity, .guest), (.newIdentity, .logins), (.newIdentity, .tokenFile),
      (.dropIdentityThenNewToken, .guest), (.dropIdentityThenNewToken, .logins),
      (.dropIdentityThenNewToken, .tokenFile), (.conflict, .logins), (.conflict, .tokenFile):
      guard attempt.remedies.insert(.newIdentity).inserted else { return nil }
      attempt.openIDToken = nil
      adopt(nil, &turn)
    default:
      return nil
    }
    return attempt
  }

  /// Whether a failure means that the user has to vouch for themselves again.
  private func needsSignIn(
    _ failureClass: FailureClass, _ voucher: Voucher, _ attempt: Attempt
  ) -> Bool {
    switch (failureClass, voucher) {
    case (.signInRequired, _), (.newTokenOnce, .developerToken),
      (.dropIdentityThenNewToken, .developerToken):
      true
    // Cognito took the logins, and STS does not take Cognito's token: that is the operator's.
    case (.newTokenOnce, .logins): attempt.openIDToken == nil
    default:
      false
    }
  }

  private mutating func fail(_ attempt: Attempt, _ failure: UpstreamFailure, _ turn: inout Turn) {
    lastFailure = PastFailure(failure: failure, at: turn.now)
    if signInFailed(attempt, failure, &turn) {
      return turn.actions.append(.announce(.failed(failure)))
    }
    let pause = held.backOff.failed(failure.failureClass, chance: turn.chance)
    held.pause = Rest(failure, now: turn.now, pause: pause)
    work = .idle
    if let voucher = attempt.voucher, needsSignIn(failure.failureClass, voucher, attempt) {
      // A later sign-in brings its own.
      if voucher == .logins || voucher == .developerToken { forgetVouchers() }
      become(.tokensInvalid(voucher.refused), &turn)
    }
    turn.actions.append(.announce(held.credentials == nil ? .failed(failure) : .degraded(failure)))
  }
}
