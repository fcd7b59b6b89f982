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
    if held.customRoleARN != nil, failure.refusesRole {
      return failure.mistake(
        "\(failure.upstream) refuses the role that the login names: check custom_role_arn (--custom-role-arn "
          + "of credctl) against the roles of the token")
    }
    return failure
  }
}

extension UpstreamFailure {
  /// Whether Cognito does not know the identity, or not with these logins.
  var refusesIdentity: Bool {
    [.newIdentity, .dropIdentityThenNewToken, .conflict].contains(failureClass)
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
