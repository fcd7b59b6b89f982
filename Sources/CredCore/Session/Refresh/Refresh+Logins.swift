/// A refresh with logins of a client or of a file, or with none: Cognito itself gives the identity.
extension Refresh {
  func callWithLogins(_ facts: RefreshFacts) -> UpstreamCall? {
    // A client added logins to the file's own, which another program keeps fresh.
    if readsFile(facts.plan), facts.plan.tokenFileProvider.flatMap({ facts.held.logins[$0] }) != nil
    {
      return .readTokenFile
    }
    return exchange(facts.held.logins, facts)
  }

  func callWithTokenFile(_ facts: RefreshFacts) -> UpstreamCall? {
    readsFile(facts.plan) ? .readTokenFile : exchange(facts.held.logins, facts)
  }

  /// Whether the profile has a token file that is to be read first.
  func readsFile(_ plan: SessionPlan) -> Bool {
    plan.tokenFileProvider != nil && !done.contains(.readFile)
  }

  // MARK: Remedies

  func remedyForLogins(_ failure: UpstreamFailure, _ facts: RefreshFacts) -> Remedy {
    if failure.failureClass == .conflict, !facts.mustKeepIdentity { return withNewIdentity }
    return remedyForGuest(failure, facts)
  }

  func remedyForGuest(_ failure: UpstreamFailure, _ facts: RefreshFacts) -> Remedy {
    if facts.mustKeepIdentity { return .none }
    switch failure.failureClass {
    // STS refuses Cognito's token.
    case .newTokenOnce where openIDToken != nil: return with(.newToken) { $0.dropOpenIDToken() }
    case .newIdentity, .dropIdentityThenNewToken: return withNewIdentity
    default: return .none
    }
  }

  /// The login belongs to another identity than the held one: GetId finds that identity.
  private var withNewIdentity: Remedy {
    with(.newIdentity, dropping: .identity) { $0.dropOpenIDToken() }
  }
}

extension RefreshFacts {
  /// Whether the client chose the identity, so that no other one is an answer.
  var mustKeepIdentity: Bool {
    signIn.map { $0.claimedIdentity != nil && !$0.isAccepted } ?? false
  }
}
