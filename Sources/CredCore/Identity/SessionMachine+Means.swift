extension SessionMachine {
  /// What a refresh goes by.
  enum Means {
    /// A backend gives the token.
    case backend(Voucher, BackendSession?)
    /// The developer token that a client brought.
    case token
    /// Logins of other providers.
    case logins
    /// The one login of those that a file holds.
    case tokenFile
    /// Nothing: an unauthenticated identity.
    case guest

    /// What the user will have signed in by; nil for guests.
    var voucher: Voucher? {
      switch self {
      case .backend(let voucher, _): voucher
      case .token: .developerToken
      case .logins: .logins
      case .tokenFile: .tokenFile
      case .guest: nil
      }
    }
  }

  /// Nil where only a sign-in helps.
  var means: Means? {
    switch standing {
    case .signedIn(.host), .tokensInvalid(.host): .backend(.host, nil)
    case .signedIn(.password(let session)): .backend(.password(session), session)
    case .signedIn(.developerToken):
      if token != nil, identityID != nil { .token } else { renewal }
    case .signedIn(.logins): .logins
    case .signedIn(.tokenFile), .tokensInvalid(.tokenFile): .tokenFile
    case .tokensInvalid(.developerToken): renewal
    case .tokensInvalid: nil
    case .signedOut(byUser: false): unattendedMeans
    case .signedOut(byUser: true), .guest: plan.allowsGuests ? .guest : nil
    }
  }

  /// What has another token when the one that a client brought is used up.
  private var renewal: Means? { plan.backend == .host ? .backend(.host, nil) : nil }

  /// What needs nobody: used unless the user signed out on purpose.
  private var unattendedMeans: Means? {
    if plan.backend == .host { return .backend(.host, nil) }
    if plan.tokenFileProvider != nil { return .tokenFile }
    return plan.allowsGuests ? .guest : nil
  }
}
