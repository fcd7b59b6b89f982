/// Under which key the ID token of a user pool goes into a logins map.
///
/// The configuration names the key; else it is the documented one. If a user pool has the updated
/// issuer, Cognito does not say which key the identity pool wants. So if Cognito answers that
/// issuer and key do not fit, and the token is from the pool's other issuer, a refresh tries the
/// key of that issuer once. The key that worked is kept with the sign-in. Both keys lead to the
/// same identity of the user.
extension Refresh {
  /// The key of a user pool's ID token in this refresh.
  struct LoginsKey: Sendable, Equatable {
    /// The identity of the session's user as the refresh began: it stays under the other key, too.
    var knownIdentity: IdentityID?
    /// Nil unless the refresh tries the other key of a user pool, and once that key has worked.
    var trial: Trial?

    struct Trial: Sendable, Equatable {
      let form: PoolIssuers.Form
      /// Why the refresh tries the key.
      let failure: UpstreamFailure
    }
  }

  /// The key of a sign-in in the logins map.
  func loginsKey(of session: ProviderSession, _ plan: SessionPlan) -> String {
    if let name = plan.providerName { return name }
    guard let issuers = session.issuer.poolIssuers,
      let form = key.trial?.form ?? (session.usesUpdatedKey ? .updated : nil)
    else { return session.issuer.loginsKey }
    return issuers.loginsKey(form)
  }

  /// Prepares a call under the pool's other key; nil if there is no other key to try.
  func underOtherKey(
    of session: ProviderSession, _ plan: SessionPlan, after failure: UpstreamFailure
  ) -> Refresh? {
    guard failure.isOfLoginsKey, plan.providerName == nil, let issuers = session.issuer.poolIssuers,
      let issuer = session.idToken?.issuer, let form = issuers.form(of: issuer),
      form != (session.usesUpdatedKey ? .updated : .original)
    else { return nil }
    var refresh = self
    guard refresh.remedies.insert(.otherKey).inserted else { return nil }
    refresh.key.trial = LoginsKey.Trial(form: form, failure: failure)
    return refresh
  }

  /// Whether Cognito has answered, under the tried key, that the known identity is another user's.
  /// Then credd does not ask for another identity.
  func isUnknownUnderTriedKey(_ failure: UpstreamFailure) -> Bool {
    guard key.trial != nil, key.knownIdentity != nil else { return false }
    return [.dropIdentityThenNewToken, .conflict].contains(failure.failureClass)
  }
}

extension HeldProviderToken {
  /// `iss`; nil for a token that is no JWT.
  fileprivate var issuer: String? { JWT.claims(of: token)?["iss"]?.text }
}

extension UpstreamFailure {
  /// Cognito accepts the tokens of a pool under its other key, but as those of another user.
  static let anotherIdentityUnderKey = UpstreamFailure(
    upstream: .cognitoIdentity, failureClass: .permanentConfiguration, code: .identityConflict,
    message: "Cognito has another identity for this user under the key of the user pool's other "
      + "issuer, and the known one is kept: set provider_name in the backend's section to the key under "
      + "which the users are to be known",
    severity: .operatorMustAct)
}

extension ProviderSession {
  /// This sign-in, with the key that worked for the former sign-in, even if that was another
  /// user's.
  func usingKey(of before: ProviderSession?) -> ProviderSession {
    guard let before, before.usesUpdatedKey, before.issuer == issuer else { return self }
    return using(.updated)
  }
}
