/// What mends a refresh after a failure.
struct Remedy {
  /// What is dropped for it.
  struct Drops: OptionSet {
    let rawValue: UInt8
    static let token = Drops(rawValue: 1)
    static let identity = Drops(rawValue: 2)
    /// The ID token of the refresh's own method, which goes on without it.
    static let idToken = Drops(rawValue: 4)
    static let loginsOfClients = Drops(rawValue: 8)
  }

  /// The refresh that goes on; nil where nothing is left to try.
  var next: Refresh?
  /// Also where nothing is left: the next refresh must not begin with it.
  var drops: Drops = []

  /// Nothing mends it.
  static let none = Remedy()
}

/// On what a remedy depends, beside the refresh and its failure.
struct RemedyFacts {
  let plan: SessionPlan
  let held: Held
  let source: TokenSource?
  let signIn: SignInUnderWay?

  /// The client chose the identity: another one is not what it asked for.
  fileprivate var mustKeepIdentity: Bool {
    signIn.map { $0.claimedIdentity != nil && !$0.isAccepted } ?? false
  }

  /// Whether a `login` waits for the backend's word about the logins that it brought.
  fileprivate var isLinkingLogins: Bool { signIn?.isLinkingLogins ?? false }

  /// Whether a link that is refused is that of a sign-in which has been accepted before.
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

  /// Logins that no `login` waits for any more, and that the backend refuses: it is asked once more
  /// without. Those of a `login` that it refuses are a sign-in that has failed.
  private func withoutLogins(_ failure: UpstreamFailure, _ facts: RemedyFacts) -> Remedy? {
    guard bringsLogins, failure.mayRefuseLogins, !facts.isLinkingLogins else { return nil }
    return Remedy(next: self, drops: .loginsOfClients)
  }

  /// A link that the backend took once and refuses now would refuse its user everything: it is asked
  /// once more without. A new link or login that it refuses is a sign-in that has failed.
  private func withoutLink(_ failure: UpstreamFailure, _ facts: RemedyFacts) -> Remedy? {
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
      // Dropped in any case, so that the next refresh does not begin with it.
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

  /// The token is dropped in any case, the identity with the first try.
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
      return with(.newToken) { $0.openIDToken = nil }
    // The backend knows this user too. During a sign-in a bad token fails the sign-in instead.
    case (.newTokenOnce, .token) where facts.plan.backend == .host && facts.signIn == nil:
      return with(.newToken, dropping: .token) { $0.method = .host }
    // The login belongs to another identity than the held one: GetId finds it.
    case (.newIdentity, .guest), (.newIdentity, .logins), (.newIdentity, .tokenFile),
      (.dropIdentityThenNewToken, .guest), (.dropIdentityThenNewToken, .logins),
      (.dropIdentityThenNewToken, .tokenFile), (.conflict, .logins), (.conflict, .tokenFile):
      return with(.newIdentity, dropping: .identity) { $0.openIDToken = nil }
    default: return .none
    }
  }

  // MARK: At a provider

  private func ofProvider(_ failure: UpstreamFailure, _ facts: RemedyFacts) -> Remedy {
    if case .backend = failure.upstream {
      // A pool, or an emulator, that is older than the operation.
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
      return with(.newToken) { $0.openIDToken = nil }
    case .newTokenOnce: return withoutIDToken
    // The pool's user belongs to another identity than the held one: GetId finds it.
    case .newIdentity, .dropIdentityThenNewToken, .conflict:
      if facts.mustKeepIdentity { return .none }
      return with(.newIdentity, dropping: .identity) {
        $0.openIDToken = nil
        // Cognito does not have it any more.
        if failure.failureClass == .newIdentity { $0.knownIdentity = nil }
      }
    default: return .none
    }
  }

  /// Cognito does not take the ID token: the next one comes from a renewal.
  private var withoutIDToken: Remedy {
    guard case .provider(let session) = method else { return with(.newToken) }
    return with(.newToken, dropping: .idToken) {
      $0.method = .provider(session.keeping(id: false, access: true))
      $0.hasNewToken = false
    }
  }
}
