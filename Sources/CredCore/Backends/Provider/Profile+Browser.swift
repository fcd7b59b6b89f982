/// Sign-ins by browser and by device code.
extension Profile {
  /// The ways that the backend offers; the first is the default.
  public var signInWays: [SignInWay] { backend?.kind.signInWays ?? [] }

  /// How a browser signs in; nil if sign-ins by browser are not possible.
  public var browser: BrowserSettings? { backend?.kind.browserSignIn }

  /// The addresses to which the browser may come back.
  public var redirectURIs: [RedirectURI] {
    browser?.redirectURIs(of: backend?.name ?? "") ?? []
  }

  /// Why a sign-in by browser does not fit the profile; nil if it does.
  func refusal(of login: BrowserLogin) -> ProtocolError? {
    guard let browser else { return refusal(of: .browser) }
    let named = "profile '\(settings.name)'"
    if let uri = login.redirectURI, !redirectURIs.contains(where: { $0.accepts(uri) }) {
      return .invalid(
        "\"redirect_uri\" \(uri.quoted) is none of \(named): "
          + redirectURIs.map(\.description.quoted).joined(separator: ", "))
    }
    if let name = login.identityProvider, !browser.identityProviders.contains(name) {
      let known = browser.identityProviders.map(\.quoted).joined(separator: ", ")
      return .invalid(
        "\"identity_provider\" \(name.quoted) is none of \(named)"
          + (known.isEmpty ? ", which has none" : ": \(known)"))
    }
    if let scope = login.scopes?.first(where: { !browser.scopes.contains($0) }) {
      return .invalid(
        "\"scopes\" may only narrow those of \(named), which has no \(scope.quoted)")
    }
    if let scopes = login.scopes, !scopes.contains("openid") {
      return .invalid("\"scopes\" must have \"openid\": without it there is no ID token")
    }
    return nil
  }

  func refusal(of way: SignInWay) -> ProtocolError {
    let ways = signInMeans.map(\.rawValue).joined(separator: ", ")
    let named = "profile '\(settings.name)'"
    guard way == .device, let reason = plan.backend.issuer?.traits.lackOfDeviceCodes else {
      return .invalid("\(named) has no sign-in by \(way.rawValue): it offers \(ways)")
    }
    return .invalid("\(named) has no sign-in by device: \(reason); it offers \(ways)")
  }

  /// The plan of a sign-in that ``refusal(of:)-swift.method`` has not refused; nil if the profile's
  /// backend is no provider.
  ///
  /// - Throws: if a required claim has no value for this user.
  public func providerPlan(
    _ signIn: SignInInput, user: String?, uid: UInt32, host: String
  ) throws(TemplateError) -> ProviderConversation.Plan? {
    guard let backend, let issuer = plan.backend.issuer else { return nil }
    let way: ProviderConversation.Way
    switch signIn {
    case .browser(let login):
      guard let request = authorization(login, issuer.clientID) else { return nil }
      way = .browser(request)
    case .device:
      guard let scopes = backend.kind.deviceScopes else { return nil }
      way = .device(scopes: scopes)
    default: return nil
    }
    return ProviderConversation.Plan(
      backend: backend.name, clientID: issuer.clientID, way: way,
      required: try requiredClaims(user: user, uid: uid, host: host))
  }

  /// The claims that an account at the profile's provider must have to belong to this user.
  ///
  /// - Throws: if a claim has no value for this user.
  public func requiredClaims(
    user: String?, uid: UInt32, host: String
  ) throws(TemplateError) -> RequiredClaims {
    guard let backend else { return RequiredClaims() }
    var required: [(name: String, value: String)] = []
    for claim in backend.kind.required {
      required.append((claim.name, try claim.value.expand(user: user, uid: uid, host: host)))
    }
    return RequiredClaims(required)
  }

  private func authorization(_ login: BrowserLogin, _ clientID: String) -> AuthorizationRequest? {
    guard let browser, let uri = login.redirectURI ?? redirectURIs.first?.description else {
      return nil
    }
    var request = AuthorizationRequest(
      clientID: clientID, redirectURI: uri, scopes: login.scopes ?? browser.scopes)
    request.identityProvider = login.identityProvider ?? browser.identityProviders.first
    // The client's choice replaces the alias.
    request.idpIdentifier = login.identityProvider == nil ? browser.idpIdentifier : nil
    if request.idpIdentifier != nil { request.identityProvider = nil }
    request.prompt = login.prompt
    request.more = browser.authorize
    return request
  }
}
