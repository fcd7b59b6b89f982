/// Under which key the ID token of a user pool goes into a logins map.
///
/// It is that of the configuration, else the documented one. Cognito does not say which one an identity
/// pool wants of a user pool with the updated issuer. So where Cognito answers that issuer and key do not
/// fit, and the token is from the pool's other issuer, that one's key is tried once in a refresh; what
/// worked is kept with the sign-in. The user's identity stays the same one under both.
extension SessionMachine {
  /// The identity that must stay the user's. That of a guest becomes whichever the sign-in has.
  var identityOfUser: IdentityID? {
    signIn?.before.state == .guest ? nil : held.identityID
  }

  /// Keeps a key that has worked.
  mutating func keepTriedKey(_ refresh: inout Refresh, _ context: inout EventContext) {
    guard let form = refresh.triedKey else { return }
    refresh.triedKey = nil
    refresh.keyFailure = nil
    if let link = held.link { return replaceLink(link.using(form)) }
    guard case .provider(let session) = refresh.method else { return }
    let kept = session.using(form)
    if let before = signIn?.before.state.providerSession,
      before.refreshToken == session.refreshToken
    {
      signIn?.before.state = .signedIn(.provider(kept))
    }
    refresh.method = .provider(kept)
    setState(.signedIn(.provider(kept)), &context)
  }

  /// Ends a refresh to which Cognito gave another identity than the known one, under a key that was tried;
  /// that one stays.
  ///
  /// - Returns: whether it did.
  mutating func refusesIdentity(
    _ identityID: IdentityID, _ refresh: Refresh, _ context: inout EventContext
  ) -> Bool {
    guard refresh.triedKey != nil, let known = refresh.knownIdentity, known != identityID else {
      return false
    }
    setIdentity(known, &context)
    fail(refresh, .anotherIdentityUnderKey, &context)
    return true
  }

  /// Fails with the refusal of the first key, if the other key has not helped either.
  mutating func failWithKey(
    _ refresh: Refresh, _ failure: UpstreamFailure, _ context: inout EventContext
  ) {
    if refresh.triedKey != nil, held.identityID == nil, let known = refresh.knownIdentity {
      setIdentity(known, &context)
    }
    if refresh.isUnknownUnderTriedKey(failure) {
      return fail(refresh, .anotherIdentityUnderKey, &context)
    }
    let isAboutToken = [.newTokenOnce, .permanentConfiguration].contains(failure.failureClass)
    fail(refresh, isAboutToken ? refresh.keyFailure ?? failure : failure, &context)
  }
}

extension ProviderSession {
  /// This sign-in, with the key that worked for the former one, of whichever user.
  func usingKey(of before: ProviderSession?) -> ProviderSession {
    guard let before, before.usesUpdatedKey, before.issuer == issuer else { return self }
    return using(.updated)
  }
}

extension Refresh {
  /// The key of a sign-in in the logins map.
  func loginsKey(of session: ProviderSession, _ plan: SessionPlan) -> String {
    if let name = plan.providerName { return name }
    guard let issuers = session.issuer.poolIssuers,
      let form = triedKey ?? (session.usesUpdatedKey ? .updated : nil)
    else { return session.issuer.loginsKey }
    return issuers.loginsKey(form)
  }

  /// Prepares a call under the pool's other key; nil where there is none to try.
  func underOtherKey(
    of session: ProviderSession, _ plan: SessionPlan, after failure: UpstreamFailure
  ) -> Refresh? {
    guard failure.isOfLoginsKey, plan.providerName == nil, let issuers = session.issuer.poolIssuers,
      let issuer = session.idToken?.issuer, let form = issuers.form(of: issuer),
      form != (session.usesUpdatedKey ? .updated : .original)
    else { return nil }
    var refresh = self
    guard refresh.remedies.insert(.otherKey).inserted else { return nil }
    refresh.triedKey = form
    refresh.keyFailure = failure
    return refresh
  }

  /// Whether Cognito has told, under a key that is being tried, that the known identity is another
  /// user's. Then another one is not asked for.
  func isUnknownUnderTriedKey(_ failure: UpstreamFailure) -> Bool {
    guard triedKey != nil, knownIdentity != nil else { return false }
    return [.dropIdentityThenNewToken, .conflict].contains(failure.failureClass)
  }
}

extension HeldProviderToken {
  /// `iss`; nil for a token that is no JWT.
  fileprivate var issuer: String? { JWT.claims(of: token)?["iss"]?.text }
}

extension UpstreamFailure {
  /// Cognito takes the tokens of a pool under its other key, but as another user's.
  static let anotherIdentityUnderKey = UpstreamFailure(
    upstream: .cognitoIdentity, failureClass: .permanentConfiguration, code: .identityConflict,
    message: "Cognito has another identity for this user under the key of the user pool's other "
      + "issuer, and the known one is kept: set provider_name in the backend's section to the key under "
      + "which the users are to be known",
    severity: .operatorMustAct)
}
