/// A refresh with a backend: its token is exchanged. Only a backend can give another token.
extension Refresh {
  func callAtBackend(_ session: BackendSession?, _ facts: RefreshFacts) -> UpstreamCall? {
    let held = facts.held
    if isForLink { return held.link.map { .renewProviderTokens($0, way: remedies.renewalWay) } }
    if goal == .credentials, done.contains(.newToken) || demand == .usable,
      let token = held.token, token.isUsable(facts.now), let identityID = held.identityID
    {
      return exchange(token, identityID, facts)
    }
    if readsFile(facts.plan) { return .readTokenFile }
    if let link = facts.linkToRenew {
      return .renewProviderTokens(link, way: remedies.renewalWay)
    }
    return .tokenCallback(
      identityID: identityForBackend(held), logins: loginsForBackend(facts), session: session,
      isForced: demand == .new || wasTokenRefused)
  }

  /// The identity that a token callback carries.
  private func identityForBackend(_ held: Held) -> IdentityID? {
    remedies.contains(.withoutIdentity) ? nil : held.identityForBackend
  }

  /// The logins that a callback brings to the backend, to be linked.
  private func loginsForBackend(_ facts: RefreshFacts) -> LoginsMap {
    guard !remedies.contains(.withoutLink), let link = facts.held.link, let token = link.idToken,
      token.isUsable(facts.now)
    else { return facts.held.logins }
    return loginsWith(token, of: link, facts)
  }

  // MARK: Remedies

  func remedyAtBackend(_ failure: UpstreamFailure, _ facts: RefreshFacts) -> Remedy {
    if let remedy = withoutLogins(failure, facts) ?? withoutLink(failure, facts) { return remedy }
    switch failure.failureClass {
    case .newTokenOnce:
      // The token is dropped in any case, so that the next refresh does not begin with it.
      return Remedy(next: with(.newToken).next, drops: .token)
    case .dropIdentityThenNewToken: return withoutIdentity(.droppedIdentity)
    case .newIdentity: return withoutIdentity(.newIdentity)
    case .retryWithoutIdentity: return with(.withoutIdentity)
    // The identity may have been deleted: then Cognito refuses the backend's own request.
    case .permanentConfiguration
    where failure.findsRequestWrong && identityForBackend(facts.held) != nil:
      return with(.withoutIdentity)
    default: return .none
    }
  }

  /// The token is dropped in any case; the identity is dropped at the first try.
  private func withoutIdentity(_ remedy: Remedies) -> Remedy {
    let next = with(remedy).next
    return Remedy(next: next, drops: next == nil ? .token : [.token, .identity])
  }

  /// If the backend refuses logins and no `login` waits for its answer, the backend is asked once
  /// more without them. If a `login` waits, the sign-in has failed.
  private func withoutLogins(_ failure: UpstreamFailure, _ facts: RefreshFacts) -> Remedy? {
    guard brought.contains(.logins), failure.mayRefuseLogins,
      !(facts.signIn?.isLinkingLogins ?? false)
    else { return nil }
    return Remedy(next: self, drops: .loginsOfClients)
  }

  /// If the backend refuses a link that it accepted before, the user would get nothing: the backend
  /// is asked once more without the link. If it refuses a new link or login, the sign-in has
  /// failed.
  private func withoutLink(_ failure: UpstreamFailure, _ facts: RefreshFacts) -> Remedy? {
    guard brought.contains(.link) else { return nil }
    if let link = facts.held.link, let next = underOtherKey(of: link, facts.plan, after: failure) {
      return Remedy(next: next)
    }
    let wasAccepted = facts.signIn.map { $0.isAccepted || $0.kind == .host } ?? true
    guard failure.mayRefuseLogins, wasAccepted else { return nil }
    let remedy = with(.withoutLink)
    return remedy.next == nil ? nil : remedy
  }
}

extension Held {
  /// What a callback brings to the backend beside the user.
  ///
  /// - Parameter sent: the logins in it.
  func brought(in sent: LoginsMap, _ plan: SessionPlan) -> Refresh.Brought {
    var brought: Refresh.Brought = []
    if let token = link?.idToken, sent.logins.contains(where: { $0.token == token.token }) {
      brought.insert(.link)
    }
    if bringsLogins(plan) { brought.insert(.logins) }
    return brought
  }

  /// Whether a callback brings the backend logins of a client. Another program keeps the token file's
  /// login fresh.
  func bringsLogins(_ plan: SessionPlan) -> Bool {
    logins.logins.contains { $0.provider != plan.tokenFileProvider }
  }
}

extension UpstreamFailure {
  /// Whether a backend, or Cognito in its place, may have refused a request because of the logins
  /// in it. Other failures concern the user, this host, the network, or the backend's own answer.
  fileprivate var mayRefuseLogins: Bool {
    guard !refusesHost, failureClass != .unknownUser else { return false }
    return [.backendRejected, .identityConflict, .tokenRejected].contains(code)
  }
}
