/// Sign-ins at a provider that are linked to the user whom the backend vouches for (`link_backend`).
///
/// The session belongs to the backend. Beside it stands the sign-in at the provider: its fresh ID
/// token goes into each callback, and the backend links it. If the provider does not answer, or has
/// ended its sign-in, the callback goes without the token: the identity is the user's already.
extension SessionMachine {
  /// The linked sign-in; nil if there is none.
  public var link: ProviderSession? { held.link }

  /// Why no sign-in can be linked now; nil if one can.
  public var refusalOfLinking: ProtocolError? {
    guard plan.link != nil, plan.backend != .host else { return nil }
    if case .signedIn(.password) = held.state { return nil }
    return ProtocolError(
      .signInRequired,
      "this sign-in is linked to the user of the backend, and nobody is signed in there: sign in "
        + "with user name and password first")
  }

  // MARK: Sign-in

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

  // MARK: Callbacks

  /// The linked sign-in, if a callback needs a new ID token of it first.
  func linkToRenew(_ refresh: Refresh, _ now: Instant) -> ProviderSession? {
    guard !refresh.done.contains(.triedLink), let link = held.link, !link.refreshToken.isEmpty,
      !(link.idToken?.isUsable(now) ?? false)
    else { return nil }
    // The renewal has just failed: a callback does not wait for a second attempt.
    if let trouble = linkTrouble, now < trouble.pause.callersFrom { return nil }
    if let slow = linkRenewal, now >= slow.started + RefreshPolicy.linkGrace { return nil }
    return link
  }

  /// Ends a link that the backend has refused, after it has accepted the user without the link.
  mutating func endRefusedLink(_ refresh: Refresh, _ context: inout EventContext) {
    guard refresh.remedies.contains(.withoutLink),
      refresh.remedies.isDisjoint(with: [.withoutIdentity, .droppedIdentity, .newIdentity]),
      let link = held.link
    else { return }
    endLink("the backend refuses the user with it, and not without", &context)
    abandon([link], &context)
  }

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
    refresh.done.insert(.triedLink)
    takeLinkRenewal(outcome, &context)
    if refresh.isForLink { return linkRefreshEnded() }
    startNextCall(refresh, &context)
  }

  /// Takes the result of the linked sign-in's renewal, even if no refresh waits for it any more.
  mutating func takeLinkRenewal(_ outcome: UpstreamOutcome, _ context: inout EventContext) {
    switch outcome {
    case .providerTokens(let tokens, let serverTime):
      guard let link = held.link, link.isUser(of: tokens) else {
        return endLink(UpstreamFailure.tokensOfAnotherUser.message, &context)
      }
      let renewed = link.renewed(
        tokens, serverTime: serverTime, received: context.now,
        keepsAccessToken: plan.keepsAccessToken)
      replaceLink(renewed)
      linkTrouble = nil
      if let lifetime = renewed.idToken?.lifetime, lifetime <= .zero {
        noteLinkFailure(.tokenExpired, context)
      }
    case .refreshTokenReplaced(let token, let failure):
      if let link = held.link { replaceLink(link.replacing(refreshToken: token)) }
      linkFailed(failure, &context)
    case .failed(let failure): linkFailed(failure, &context)
    case .signedIn, .fileToken, .token, .identity, .credentials, .sourceRenewed, .derived: break
    }
  }

  // MARK: A provider that is slow

  /// Whether a renewal is that of a linked sign-in: only requests for its own tokens wait for it.
  func isOfLink(_ renewal: ProviderRenewal) -> Bool {
    [held, formerHeld].contains { $0?.link?.refreshToken == renewal.token }
  }

  /// The renewal of the linked sign-in that is under way, if any.
  var linkRenewal: ProviderRenewal? { awaitedRenewal.flatMap { isOfLink($0) ? $0 : nil } }

  /// Until when a refresh waits for the renewal of the linked sign-in; nil if none does.
  var linkGraceEnd: Instant? {
    guard case .refreshing(let refresh) = work, let renewal = linkRenewal,
      refresh.call == renewal.call
    else { return nil }
    return renewal.started + RefreshPolicy.linkGrace
  }

  /// Lets a refresh go on without the new ID token of the linked sign-in. The user's credentials
  /// come from the backend, and a slow provider must not delay them. The renewal goes on by itself.
  mutating func leaveSlowLink(_ context: inout EventContext) {
    guard let linkGraceEnd, linkGraceEnd <= context.now, case .refreshing(var refresh) = work else {
      return
    }
    if refresh.isForLink { return linkRefreshEnded() }
    refresh.done.insert(.triedLink)
    startNextCall(refresh, &context)
  }

  /// If the provider does not answer, nothing ends: the next callback tries again.
  private mutating func linkFailed(_ failure: UpstreamFailure, _ context: inout EventContext) {
    if failure.failureClass == .signInRequired { return endLink(failure.message, &context) }
    noteLinkFailure(failure, context)
  }

  private mutating func endLink(_ reason: String, _ context: inout EventContext) {
    let name = held.link?.username ?? ""
    let error = ProtocolError(
      .signInRequired,
      "the linked sign-in of \(name.quoted) has ended: \(reason); the session goes on "
        + "without it, and a new sign-in links it again")
    // If the sign-in under way is refused, that must not bring the dead token back.
    if let dead = held.link { forgetLink(dead.refreshToken) }
    context.actions.append(.announce(.expiring(error)))
  }

  private mutating func forgetLink(_ refreshToken: Secret) {
    held.link = nil
    linkTrouble = nil
    if signIn?.before.link?.refreshToken == refreshToken { signIn?.before.link = nil }
  }

  /// The former refresh token may be dead, so a refused sign-in restores this one.
  mutating func replaceLink(_ next: ProviderSession) {
    if let before = signIn?.before.link, before.refreshToken == held.link?.refreshToken {
      signIn?.before.link = next
    }
    held.link = next
  }
}

extension ProtocolError {
  static let noRefreshToken = ProtocolError(
    .signInFailed, "the user pool gave no refresh token: check the app client's settings")
}
