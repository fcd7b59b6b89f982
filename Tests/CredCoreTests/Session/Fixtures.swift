import CredCore

/// What upstreams answer in the tests of sessions.
struct Fixtures {
  let identity: IdentityID
  let other: IdentityID
  let developerToken: DeveloperToken

  init() {
    do throws(InvalidInput) {
      identity = try IdentityID(Samples.identityText)
      other = try IdentityID("us-east-1:00000000-1111-2222-3333-444444444444")
      developerToken = try DeveloperToken(Secret("token"))
    } catch {
      preconditionFailure("\(error)")
    }
  }

  func token(_ lifetime: Double? = 900, of identity: IdentityID? = nil) -> UpstreamOutcome {
    .token(
      identityID: identity ?? self.identity, token: developerToken,
      lifetime: lifetime.map { .seconds(1) * $0 })
  }

  func credentials(_ lifetime: Double = 3600, of identity: IdentityID? = nil) -> UpstreamOutcome {
    .credentials(
      Credentials(
        accessKeyID: "ASIAEXAMPLEEXAMPLE00", secretAccessKey: Secret("key"),
        sessionToken: Secret("session"), expiration: WallTime(milliseconds: 0)),
      identityID: identity ?? self.identity, lifetime: .seconds(1) * lifetime)
  }

  func failed(
    _ failureClass: FailureClass = .transient(retryAfter: nil),
    _ code: ProtocolErrorCode = .backendUnavailable
  ) -> UpstreamOutcome {
    .failed(failure(failureClass, code))
  }

  func failure(
    _ failureClass: FailureClass = .transient(retryAfter: nil),
    _ code: ProtocolErrorCode = .backendUnavailable
  ) -> UpstreamFailure {
    UpstreamFailure(
      upstream: .backend("corp"), failureClass: failureClass, code: code, message: "it failed",
      severity: .expected)
  }

  // MARK: Calls

  /// The exchange of the token above.
  func exchange(_ identity: IdentityID? = nil) -> UpstreamCall {
    let logins = try? LoginsMap([("cognito-identity.amazonaws.com", developerToken.token)])
    return .getCredentials(
      identityID: identity ?? self.identity, logins: logins ?? LoginsMap(), customRoleARN: nil)
  }

  func guestExchange() -> UpstreamCall {
    .getCredentials(identityID: identity, logins: LoginsMap(), customRoleARN: nil)
  }

  func callback(_ identity: IdentityID? = nil) -> UpstreamCall {
    .tokenCallback(identityID: identity, logins: LoginsMap(), session: nil)
  }
}
