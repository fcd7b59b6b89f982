/// The session and the sign-in that is linked to its user: ``Linking``.
extension SessionMachine {
  /// The linked sign-in; nil if there is none.
  public var link: ProviderSession? { held.link }

  var linking: Linking {
    get {
      Linking(
        plan: plan, state: held.state, session: held.link, former: signIn?.before.link,
        trouble: linkTrouble, renewal: awaitedRenewal.flatMap { isOfLink($0) ? $0 : nil },
        isSigningIn: signIn?.kind == .provider)
    }
    set {
      held.link = newValue.session
      signIn?.before.link = newValue.former
      linkTrouble = newValue.trouble
    }
  }

  /// Whether a renewal is that of a linked sign-in: only requests for its own tokens wait for it.
  func isOfLink(_ renewal: ProviderRenewal) -> Bool {
    [held, formerHeld].contains { $0?.link?.refreshToken == renewal.token }
  }

  /// The sign-in whose tokens programs may have: the session's own, or the linked one. Nil if no
  /// user is signed in, and until the backend has accepted a new link.
  public var vendedSession: ProviderSession? {
    guard case .signedIn(let method) = held.state else { return nil }
    if case .provider(let session) = method { return session }
    return signIn?.isAccepted ?? true ? held.link : nil
  }

  // MARK: Sign-in

  /// Why no sign-in can be linked now; nil if one can.
  public var refusalOfLinking: ProtocolError? {
    guard plan.link != nil, plan.backend != .host else { return nil }
    if case .signedIn(.password) = held.state { return nil }
    return ProtocolError(
      .signInRequired,
      "this sign-in is linked to the user of the backend, and nobody is signed in there: sign in "
        + "with user name and password first")
  }

  /// Takes the tokens of a sign-in that must be linked. The callback that follows says whether the
  /// backend takes it.
  ///
  /// - Returns: why the sign-in cannot be linked; nil if its tokens were taken.
  mutating func useLink(
    _ signIn: AcceptedSignIn, _ context: inout EventContext
  ) -> ProtocolError? {
    if let refusal = refusalOfLinking { return refusal }
    guard let session = ProviderSession(signIn, keepsAccessToken: plan.keepsAccessToken) else {
      return .noRefreshToken
    }
    change(&context) { $0.link(session) }
    linkTrouble = nil
    return nil
  }

  // MARK: Its renewal

  /// Takes the result of the linked sign-in's renewal, and goes on with the callback.
  mutating func linkRenewalEnded(
    _ outcome: UpstreamOutcome, _ refresh: Refresh, _ context: inout EventContext
  ) {
    var refresh = refresh
    if case .failed(let failure) = outcome, failure.namesUnknownOperation,
      refresh.remedies.insert(.olderRenewal).inserted
    {
      return startNextCall(refresh, &context)
    }
    takeLinkRenewal(outcome, &context)
    goOnAfterLink(refresh, &context)
  }

  /// Takes the result of the linked sign-in's renewal, even if no refresh waits for it any more.
  mutating func takeLinkRenewal(_ outcome: UpstreamOutcome, _ context: inout EventContext) {
    let end = linking.take(outcome, context.now, jitter: context.jitter)
    if let end { context.actions.append(.announce(.expiring(end))) }
  }

  /// Until when a refresh waits for the renewal of the linked sign-in; nil if none does.
  var linkGraceEnd: Instant? {
    guard renewal != nil, case .refreshing(let refresh) = work else { return nil }
    return linking.graceEnd(of: refresh)
  }

  /// Lets a refresh go on without the new ID token of the linked sign-in. The user's credentials
  /// come from the backend, and a slow provider must not delay them. The renewal goes on by itself.
  mutating func leaveSlowLink(_ context: inout EventContext) {
    guard let linkGraceEnd, linkGraceEnd <= context.now, case .refreshing(let refresh) = work
    else { return }
    goOnAfterLink(refresh, &context)
  }

  /// Goes on with the callback. A refresh that was only for the linked sign-in ends.
  private mutating func goOnAfterLink(_ refresh: Refresh, _ context: inout EventContext) {
    if refresh.isForLink {
      work = .idle
      return
    }
    var refresh = refresh
    refresh.done.insert(.triedLink)
    startNextCall(refresh, &context)
  }

  // MARK: At the backend

  /// The backend has answered a callback with a token: what it brought is linked. Logins of a client are
  /// not sent again, as in the mobile SDKs. Nobody renews them: if credd sent them for ever, the backend
  /// would refuse everything once they have expired. So the callback that brings them decides the `login`.
  ///
  /// - Parameter identityID: to which it is linked.
  mutating func backendTook(
    _ identityID: IdentityID, _ refresh: inout Refresh, _ context: inout EventContext
  ) {
    if refresh.brought.contains(.logins) {
      setIdentity(identityID, &context)
      let (linked, plan) = (held.logins, plan)
      // If the sign-in is refused by what follows, the link stays.
      signIn?.before.noteLinks(of: linked, to: identityID, plan)
      held.loginsLinked(to: identityID, plan)
    }
    // A later refusal in this refresh is about the token, not about what was linked.
    refresh.tookWhatItBrought()
    work = .refreshing(refresh)
    // Beside a password: whatever comes now, the user is signed in and linked.
    if signIn?.state == .linking { acceptSignIn(&context) }
  }

  /// Whether a refusal of a call may be about what a person has brought: a sign-in, a linked account, or
  /// logins. Nobody here brings those of the token file.
  public func isPersonal(_ call: UpstreamCall) -> Bool {
    if held.state.isPersonal || held.link != nil { return true }
    if case .tokenCallback = call { return held.bringsLogins(plan) }
    return false
  }

  /// Ends a link that the backend has refused, after it has accepted the user without the link.
  mutating func endRefusedLink(_ refresh: Refresh, _ context: inout EventContext) {
    guard refresh.remedies.contains(.withoutLink),
      refresh.remedies.isDisjoint(with: [.withoutIdentity, .droppedIdentity, .newIdentity]),
      let link = held.link
    else { return }
    let end = linking.end("the backend refuses the user with it, and not without")
    context.actions.append(.announce(.expiring(end)))
    abandon([link], &context)
  }

  /// Tokens of a provider go to no other provider, and to no other address.
  mutating func leaveLink(isElsewhere: Bool, _ context: inout EventContext) {
    let issuer = isElsewhere ? nil : plan.link
    var former = linking
    guard !former.leave(unlessOf: issuer).isEmpty else { return }
    // The tokens of a link that is being made are revoked with it.
    if case .provider = signIn?.kind { cancelSignIn(.configurationChanged, &context) }
    // Stops also a refresh that waits for a renewal which another refresh asked for.
    if linkGraceEnd != nil { stopRefresh() }
    let left = linking.leave(unlessOf: issuer)
    abandon(left, &context)
  }
}

extension Refresh {
  /// Whether it only renews the linked sign-in, and does not ask the backend.
  var isForLink: Bool { goal.isOfProvider }
}
