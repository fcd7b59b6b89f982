extension UpstreamFailure {
  /// A backend that keeps tokens for later may hand out one that is no good any more.
  static let tokenIsOver = UpstreamFailure(
    upstream: .cognitoIdentity, failureClass: .newTokenOnce, code: .tokenRejected,
    message: "the backend gave a token that has expired already; "
      + "it must fetch a new one, or this host's clock is wrong",
    severity: .operatorMustAct)

  /// A success that would be asked for again at once, without end.
  static let credentialsAreOver = UpstreamFailure(
    upstream: .cognitoIdentity, failureClass: .transient(retryAfter: nil),
    code: .cognitoUnavailable,
    message: "the credentials that came have expired already; is this host's clock right?",
    severity: .operatorMustAct)
}
