/// What a session does with the key that a refresh tries: ``Refresh/LoginsKey``.
extension SessionMachine {
  /// The identity that must stay the user's. A guest's identity may be replaced by that of the
  /// sign-in.
  var identityOfUser: IdentityID? {
    signIn?.before.state == .guest || held.isIdentityOfGuest ? nil : held.identityID
  }

  /// Keeps a key that has worked.
  mutating func keepTriedKey(_ refresh: inout Refresh, _ context: inout EventContext) {
    guard let form = refresh.key.trial?.form else { return }
    refresh.key.trial = nil
    if let link = held.link { return linking.replace(by: link.using(form)) }
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

  /// Ends a refresh if Cognito gave another identity than the known one under the tried key. The
  /// known identity stays.
  ///
  /// - Returns: whether it ended the refresh.
  mutating func refusesIdentity(
    _ identityID: IdentityID, _ refresh: Refresh, _ context: inout EventContext
  ) -> Bool {
    guard refresh.key.trial != nil, let known = refresh.key.knownIdentity, known != identityID
    else {
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
    if refresh.key.trial != nil, held.identityID == nil, let known = refresh.key.knownIdentity {
      setIdentity(known, &context)
    }
    if refresh.isUnknownUnderTriedKey(failure) {
      return fail(refresh, .anotherIdentityUnderKey, &context)
    }
    let isAboutToken = [.newTokenOnce, .permanentConfiguration].contains(failure.failureClass)
    fail(refresh, isAboutToken ? refresh.key.trial?.failure ?? failure : failure, &context)
  }
}
