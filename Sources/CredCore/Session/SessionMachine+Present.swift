extension ProviderConversation.Present {
  /// Whose a session is: somebody who would be replaced, or an identity that the sign-in would be linked
  /// to.
  ///
  /// - Parameter backendUser: whom the sign-in is linked to where no identity is known so far.
  public init(_ machine: SessionMachine, linkedTo backendUser: String? = nil) {
    let identity = machine.identityID?.description
    // Who is linked already.
    let link = machine.link.map { User($0) }
    if machine.plan.link != nil {
      self.init(user: link, linksTo: identity ?? backendUser)
    } else {
      self.init()
    }
    switch machine.state.method {
    case nil:
      if machine.state == .guest { linksTo = identity }
    case .host: break
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

  /// Of a sign-in that no provider of OpenID Connect gave.
  fileprivate init(shown: String) { self.init(issuer: nil, subject: nil, shown: shown) }
}
