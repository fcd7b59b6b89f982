/// What a refresh does to go on after a failure.
struct Remedy {
  /// What the session drops for the remedy.
  struct Drops: OptionSet {
    let rawValue: UInt8
    static let token = Drops(rawValue: 1)
    static let identity = Drops(rawValue: 2)
    /// The ID token of the refresh's own sign-in, which goes on without it.
    static let idToken = Drops(rawValue: 4)
    static let loginsOfClients = Drops(rawValue: 8)
  }

  /// The refresh that goes on; nil if nothing is left to try.
  var next: Refresh?
  /// Dropped also if nothing is left to try: the next refresh must not begin with it.
  var drops: Drops = []

  /// Nothing mends it.
  static let none = Remedy()
}

/// The facts on which a remedy depends, beside the refresh and its failure.
struct RemedyFacts {
  let plan: SessionPlan
  let held: Held
  let source: TokenSource?
  let signIn: SignInUnderWay?
  /// Whether the source's credentials are older than a minute.
  var isSourceOld = false

  /// Whether the client chose the identity, so that no other one is an answer.
  fileprivate var mustKeepIdentity: Bool {
    signIn.map { $0.claimedIdentity != nil && !$0.isAccepted } ?? false
  }

  /// Whether a `login` waits for the backend's word about the logins that it brought.
  fileprivate var isLinkingLogins: Bool { signIn?.isLinkingLogins ?? false }

  /// Whether a refused link belongs to a sign-in that was accepted before.
  fileprivate var mayLeaveLink: Bool { signIn.map { $0.isAccepted || $0.kind == .host } ?? true }
}

/// Each remedy is tried once, so that a refresh always ends.
extension Refresh {
  /// The first that fits.
  func remedy(after failure: UpstreamFailure, _ facts: RemedyFacts) -> Remedy {
    switch facts.source {
    case .provider: return ofProvider(failure, facts)
    // Only a backend can give another token.
    case .backend:
      return withoutLogins(failure, facts) ?? withoutLink(failure, facts)
        ?? ofBackend(failure, facts)
    case .source: return ofSource(failure, facts)
    case .token, .logins, .tokenFile, .guest, nil: return withoutBackend(failure, facts)
    }
  }

  /// This refresh with a remedy that was not tried yet.
  private func with(
    _ remedy: Remedies, dropping drops: Remedy.Drops = [],
    _ change: (inout Refresh) -> Void = { _ in }
  ) -> Remedy {
    var next = self
    guard next.remedies.insert(remedy).inserted else { return .none }
    change(&next)
    return Remedy(next: next, drops: drops)
  }

  // MARK: At a backend

  /// If the backend refuses logins and no `login` waits for its answer, the backend is asked once
  /// more without them. If a `login` waits, the sign-in has failed.
  private func withoutLogins(_ failure: UpstreamFailure, _ facts: RemedyFacts) -> Remedy? {
    guard brought.contains(.logins), failure.mayRefuseLogins, !facts.isLinkingLogins else {
      return nil
    }
    return Remedy(next: self, drops: .loginsOfClients)
  }

  /// If the backend refuses a link that it accepted before, the user would get nothing: the backend
  /// is asked once more without the link. If it refuses a new link or login, the sign-in has
  /// failed.
  private func withoutLink(_ failure: UpstreamFailure, _ facts: RemedyFacts) -> Remedy? {
    let bringsLink = brought.contains(.link)
    if bringsLink, let link = facts.held.link,
      let underOtherKey = underOtherKey(of: link, facts.plan, after: failure)
    {
      return Remedy(next: underOtherKey)
    }
    guard bringsLink, failure.mayRefuseLogins, facts.mayLeaveLink else { return nil }
    let remedy = with(.withoutLink)
    return remedy.next == nil ? nil : remedy
  }

  private func ofBackend(_ failure: UpstreamFailure, _ facts: RemedyFacts) -> Remedy {
    switch failure.failureClass {
    case .newTokenOnce:
      // The token is dropped in any case, so that the next refresh does not begin with it.
      return Remedy(next: with(.newToken).next, drops: .token)
    case .dropIdentityThenNewToken: return withoutIdentity(.droppedIdentity)
    case .newIdentity: return withoutIdentity(.newIdentity)
    case .retryWithoutIdentity: return with(.withoutIdentity)
    // The identity may have been deleted: then Cognito refuses the backend's own request.
    case .permanentConfiguration
    where failure.findsRequestWrong && facts.held.identityForBackend(self) != nil:
      return with(.withoutIdentity)
    default: return .none
    }
  }

  /// The token is dropped in any case; the identity is dropped at the first try.
  private func withoutIdentity(_ remedy: Remedies) -> Remedy {
    let next = with(remedy).next
    return Remedy(next: next, drops: next == nil ? .token : [.token, .identity])
  }

  // MARK: Without a backend

  /// Guests and logins get a new identity from Cognito itself.
  private func withoutBackend(_ failure: UpstreamFailure, _ facts: RemedyFacts) -> Remedy {
    if facts.mustKeepIdentity { return .none }
    switch (failure.failureClass, facts.source) {
    case (.newTokenOnce, _) where openIDToken != nil:
      return with(.newToken) { $0.dropOpenIDToken() }
    // The backend knows this user too. During a sign-in a bad token fails the sign-in instead.
    case (.newTokenOnce, .token) where facts.plan.backend == .host && facts.signIn == nil:
      return with(.newToken, dropping: .token) { $0.method = .host }
    // The login belongs to another identity than the held one: GetId finds that identity.
    case (.newIdentity, .guest), (.newIdentity, .logins), (.newIdentity, .tokenFile),
      (.dropIdentityThenNewToken, .guest), (.dropIdentityThenNewToken, .logins),
      (.dropIdentityThenNewToken, .tokenFile), (.conflict, .logins), (.conflict, .tokenFile):
      return with(.newIdentity, dropping: .identity) { $0.dropOpenIDToken() }
    default: return .none
    }
  }

  // MARK: With a source's credentials

  /// STS does not take the source's credentials, or an older session of the source's role may have been
  /// revoked: the source is renewed, once.
  private func ofSource(_ failure: UpstreamFailure, _ facts: RemedyFacts) -> Remedy {
    switch failure.failureClass {
    case .newTokenOnce: return with(.newToken) { $0.beginAnew() }
    case .poolMisconfigured where failure.reason == "AccessDenied" && facts.isSourceOld:
      return with(.newToken) { $0.beginAnew() }
    default: return .none
    }
  }

  // MARK: At a provider

  private func ofProvider(_ failure: UpstreamFailure, _ facts: RemedyFacts) -> Remedy {
    if case .backend = failure.upstream {
      // The pool, or an emulator, does not know the new operation.
      return failure.namesUnknownOperation ? with(.olderRenewal) : .none
    }
    if case .provider(let session) = method,
      let next = underOtherKey(of: session, facts.plan, after: failure)
    {
      return Remedy(next: next)
    }
    if isUnknownUnderTriedKey(failure) { return .none }
    switch failure.failureClass {
    // STS refuses Cognito's token.
    case .newTokenOnce where openIDToken != nil:
      return with(.newToken) { $0.dropOpenIDToken() }
    case .newTokenOnce: return withoutIDToken
    // The pool's user belongs to another identity than the held one: GetId finds that identity.
    case .newIdentity, .dropIdentityThenNewToken, .conflict:
      if facts.mustKeepIdentity { return .none }
      return with(.newIdentity, dropping: .identity) {
        $0.dropOpenIDToken()
        // Cognito does not have the identity any more.
        if failure.failureClass == .newIdentity { $0.key.knownIdentity = nil }
      }
    default: return .none
    }
  }

  /// Cognito does not accept the ID token: a renewal gives the next one.
  private var withoutIDToken: Remedy {
    guard case .provider(let session) = method else { return with(.newToken) }
    return with(.newToken, dropping: .idToken) {
      $0.method = .provider(session.keeping(id: false, access: true))
      $0.done.remove(.newToken)
    }
  }
}
