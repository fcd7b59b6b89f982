extension ProviderConversation.Present {
  /// The user of a session: a sign-in would replace this user, or would be linked to this identity.
  ///
  /// - Parameter backendUser: the user to whom the sign-in is linked if no identity is known so
  ///   far.
  public init(_ machine: SessionMachine, linkedTo backendUser: String? = nil) {
    let identity = machine.identityID?.description
    // The user who is linked already.
    let link = machine.link.map { User($0) }
    if machine.plan.link != nil {
      self.init(user: link, linksTo: identity ?? backendUser)
    } else {
      self.init()
    }
    switch machine.state.method {
    case nil:
      if machine.state == .guest { linksTo = identity }
    case .host, .source: break
    case .password: if machine.plan.link == nil { user = User(shown: "a user by password") }
    case .provider(let session): user = User(session)
    case .developerToken, .logins, .tokenFile: user = User(shown: "a user by token")
    }
  }
}

extension ProviderConversation.Present.User {
  fileprivate init(_ session: ProviderSession) {
    self.init(
      issuer: session.issuer.issuer, subject: session.subject, shown: session.username)
  }

  /// A user who did not sign in at a provider of OpenID Connect.
  fileprivate init(shown: String) { self.init(issuer: nil, subject: nil, shown: shown) }
}
