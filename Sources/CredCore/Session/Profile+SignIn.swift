/// Which sign-ins fit the profile.
extension Profile {
  /// How users sign in, for clients that ask before they sign in.
  public var signInMeans: [SignInMeans] {
    var means: [SignInMeans] = []
    if plan.worksUnattended { means.append(.host) }
    if plan.backend == .password || poolProfile != nil { means.append(.password) }
    means += signInProfile.signInWays.map(\.means)
    guard kind.takesTokensOfClients else { return means }
    // Backends give developer tokens; user pools do not.
    if plan.backend.issuer == nil { means.append(.token) }
    // Also where the backend cannot link them: they go to Cognito alone ("alone": true).
    means.append(.logins)
    return means
  }

  /// Whether its backend can be told of a sign-out.
  public var reportsSignOut: Bool {
    backend?.kind.reportsSignOut ?? false
  }

  /// Why a `login` does not fit this profile; checked before any call.
  public func refusal(of login: LoginRequest) -> ProtocolError? {
    if let error = kind.refusal(of: login, in: self) { return error }
    if login.metadata != nil || login.validationData != nil, let error = refusalOfMetadata {
      return error
    }
    switch login.signIn {
    case .host: return refusalOfHost
    case .username:
      guard let settings = poolProfile?.userPool else {
        return ProtocolError(
          .invalidRequest,
          "\"username\" needs \"password\": profile '\(self.settings.name)' has no user pool to "
            + "ask for it")
      }
      guard settings.authFlow.needsPassword else { return nil }
      return ProtocolError(
        .signInRequired, "profile '\(self.settings.name)' needs a password")
    case .browser(let browser): return signInProfile.refusal(of: browser)
    case .device:
      return signInProfile.signInWays.contains(.device) ? nil : signInProfile.refusal(of: .device)
    case .password(let username, let password, let logins):
      guard plan.backend == .password || poolProfile != nil else {
        return ProtocolError(
          .invalidRequest, "profile '\(settings.name)' has no backend that takes passwords")
      }
      return (logins.isEmpty ? nil : refusalBesidePassword(logins))
        ?? backend?.kind.refusal(ofName: username, password)
    case .providerTokens: return nil
    case .developerToken(let identityID, let token):
      if let provider = plan.backend.issuer?.traits {
        return ProtocolError(
          .invalidRequest,
          "profile '\(settings.name)' has a \(provider.words.own): it takes no developer token")
      }
      return kind.refusal(of: identityID, in: self)
        ?? kind.refusal(of: token, for: identityID, in: self)
    case .logins(let logins, let identityID, let isAlone):
      return refusal(of: logins) ?? identityID.flatMap { kind.refusal(of: $0, in: self) }
        ?? (isAlone ? nil : refusalOfLinking(logins, identityID))
    }
  }

  /// Why logins cannot go beside a password: one backend is to get both.
  private func refusalBesidePassword(_ logins: LoginsMap) -> ProtocolError? {
    guard plan.backend == .password else {
      return ProtocolError(
        .invalidRequest,
        "\"logins\" beside \"password\" are for a backend with login_url, which links them, and "
          + "profile '\(settings.name)' has none: sign in with the password first, and then with the "
          + "\"logins\"")
    }
    return refusal(of: logins) ?? refusalOfLinking(logins, nil)
  }

  /// Only the backend says who is whom at the developer provider: a client that could would name
  /// another user there.
  private func refusal(of logins: LoginsMap) -> ProtocolError? {
    let own = settings.developerProvider?.lowercased()
    for provider in logins.logins.map(\.provider) {
      if provider.lowercased() == own {
        return ProtocolError(
          .invalidRequest,
          "provider \(provider.quoted) in \"logins\" is the developer_provider of profile "
            + "'\(settings.name)': only the profile's backend may name a user of that provider")
      }
      // credd did not ask for the tokens of a client, and the user has not confirmed them.
      if let issuer = userIssuer,
        ownLoginsKeys(issuer).contains(where: { $0.lowercased() == provider.lowercased() })
      {
        return ProtocolError(
          .invalidRequest,
          "provider \(provider.quoted) in \"logins\" is the \(issuer.traits.words.name) of profile "
            + "'\(settings.name)' itself: sign in to it")
      }
      if provider == plan.developerLoginKey {
        return ProtocolError(
          .invalidRequest,
          "provider \(provider.quoted) in \"logins\" is the key of developer tokens: they go into "
            + "\"token\", with their \"identity_id\"")
      }
    }
    return nil
  }

  /// The keys under which tokens of the profile's own or linked provider may go into a logins map.
  private func ownLoginsKeys(_ issuer: ProviderIssuer) -> [String] {
    let pools = issuer.poolIssuers
    return [issuer.loginsKey]
      + [plan.providerName, pools?.loginsKey(.original), pools?.loginsKey(.updated)]
      .compactMap(\.self)
  }

  /// Why logins cannot go to the backend, or with the provider's token, to be linked.
  private func refusalOfLinking(
    _ logins: LoginsMap, _ identityID: IdentityID?
  ) -> ProtocolError? {
    guard let backend else { return nil }
    if identityID != nil {
      return ProtocolError(
        .invalidRequest,
        "in profile '\(settings.name)' the backend says whose identity it is: \"identity_id\" beside "
          + "\"logins\" takes \"alone\": true")
    }
    guard !backend.kind.takesLogins else { return refusal(ofCount: logins.logins.count) }
    return ProtocolError(
      .invalidRequest,
      "backend '\(backend.name)' of profile '\(settings.name)' has method = GET, which carries no "
        + "logins: \"logins\" takes \"alone\": true, or the backend method = POST")
  }

  /// Why a session cannot hold so many logins together.
  public func refusal(ofKeeping count: Int) -> ProtocolError? {
    guard var error = refusal(ofCount: count) else { return nil }
    error.message +=
      "; with those that the session keeps they are \(count), and \"alone\": true replaces these"
    return error
  }

  /// Cognito takes ten logins of a user, and the profile needs some of them.
  private func refusal(ofCount count: Int) -> ProtocolError? {
    let taken = [
      backend?.kind.addsLogin ?? false, link != nil, plan.tokenFileProvider != nil,
    ]
    .count { $0 }
    let free = Limits.Upstream.logins - taken
    guard count > free else { return nil }
    return ProtocolError(
      .invalidRequest,
      "\"logins\" must be at most \(free) in profile '\(settings.name)': Cognito takes "
        + "\(Limits.Upstream.logins) of a user, and \(taken) of them are the profile's own")
  }

  private var refusalOfHost: ProtocolError? {
    if plan.worksUnattended { return nil }
    if let issuer = plan.backend.issuer, !issuer.traits.takesPasswords {
      return ProtocolError(
        .signInRequired,
        "profile '\(settings.name)' needs a sign-in by "
          + signInWays.map(\.rawValue).joined(separator: ", ")
          + ": sign in with 'credctl login --profile \(settings.name)'")
    }
    guard plan.backend != .password, plan.backend.issuer == nil else {
      // At this code a client asks the user for a password.
      return ProtocolError(.signInRequired, "profile '\(settings.name)' needs a password")
    }
    return ProtocolError(
      .invalidRequest,
      "profile '\(settings.name)' has no backend: \"login\" needs \"identity_id\" with \"token\", or "
        + "\"logins\"")
  }
}
