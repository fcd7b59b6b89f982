/// Failures of a `login` that are the user's own mistakes: neither the pool nor credd's configuration is
/// wrong, and no administrator has to act.
extension SessionMachine {
  /// A failure, as the mistake of a sign-in's user where it is one. The role that a login names stays
  /// the user's own choice at each later refresh.
  func judged(_ failure: UpstreamFailure) -> UpstreamFailure {
    guard failure.upstream == .cognitoIdentity else { return failure }
    if let signIn, signIn.claimedIdentity != nil, !signIn.isAccepted, failure.refusesIdentity {
      return failure.mistake(
        "\(failure.upstream) does not take the identity that the login names as that of its tokens: "
          + "check identity_id (--identity-id of credctl)")
    }
    if let signIn, signIn.kind == .tokens, !signIn.isAccepted, held.state == .signedIn(.logins),
      held.customRoleARN == nil, failure.refusesLoginsKey
    {
      if let words = held.logins.misplaced {
        return failure.mistake("\(failure.upstream) does not take the login: \(words)")
      }
      let keys = held.logins.logins.map(\.provider)
        .filter { held.logins[$0] != signIn.before.logins[$0] }.map(\.quoted)
      return failure.mistake(
        "\(failure.upstream) does not take a token under the key in logins that names its provider "
          + "(\(keys.joined(separator: ", "))): the key must be the provider that issued the token, as the "
          + "identity pool lists it")
    }
    if held.customRoleARN != nil, failure.refusesRole {
      return failure.mistake(
        "\(failure.upstream) refuses the role that the login names: check custom_role_arn (--custom-role-arn "
          + "of credctl) against the roles of the token")
    }
    return failure
  }
}

extension LoginsMap {
  /// The issuers of ID tokens for keys that have short names at `credctl login --login`.
  private static let issuers = [
    "https://accounts.google.com": "accounts.google.com",
    "accounts.google.com": "accounts.google.com",
    "https://appleid.apple.com": "appleid.apple.com",
    "https://www.facebook.com": "graph.facebook.com",
    "https://facebook.com": "graph.facebook.com", "https://www.amazon.com": "www.amazon.com",
  ]

  /// A token that stands under another provider's key than that of its issuer, in words; nil if there is
  /// none that can be told.
  fileprivate var misplaced: String? {
    for login in logins {
      guard let issuer = JWT.claims(of: login.token)?["iss"]?.text,
        let key = Self.issuers[issuer], key != login.provider
      else { continue }
      return
        "the token under the key \(login.provider.quoted) was issued by \(issuer.quoted), whose key is "
        + key.quoted
    }
    return nil
  }
}

extension UpstreamFailure {
  /// Whether Cognito does not know the identity, or not with these logins.
  var refusesIdentity: Bool {
    [.newIdentity, .dropIdentityThenNewToken, .conflict].contains(failureClass)
  }

  /// Whether Cognito does not know a provider of the logins, or got another one's token under its name. The
  /// client chose the name.
  fileprivate var refusesLoginsKey: Bool {
    isOfLoginsKey || reason == "InvalidParameterException"
      || reason == "NotAuthorizedException"
        && message.contains(bytesOf: "supported provider")
  }

  /// Of the refusals under this name only that of a role is about the pool.
  fileprivate var refusesRole: Bool {
    failureClass == .poolMisconfigured && reason == "NotAuthorizedException"
  }

  /// The same refusal, which the user can mend.
  func mistake(_ message: String) -> UpstreamFailure {
    let fact = reason.map { " (\($0))" } ?? ""
    var mistake = UpstreamFailure(
      upstream: upstream, failureClass: .signInFailed, code: .signInFailed,
      message: message + fact, severity: .expected)
    mistake.reason = reason
    mistake.detail = detail
    return mistake
  }
}
