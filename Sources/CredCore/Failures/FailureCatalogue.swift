extension UpstreamFailure {
  /// All failures of the table for an upstream, for simulations. New rows are included
  /// automatically.
  package static func catalogue(of upstream: Upstream) -> [UpstreamFailure] {
    let transport = TransportFailure.allCases.map(FailureTable.transport)
    let spoiled = [
      FailureTable.html, FailureTable.proxyRefuses, FailureTable.redirect,
      FailureTable.malformedReply,
      FailureTable.serverFault,
      FailureTable.throttledByStatus, FailureTable.wrongPool, FailureTable.notSent,
    ]
    let own: [FailureTable.Row] =
      switch upstream {
      case .cognitoIdentity:
        FailureTable.cognito + FailureTable.anyService + [FailureTable.unknownRefusal]
      case .sts: FailureTable.sts + FailureTable.anyService + [FailureTable.unknownRefusal]
      case .backend:
        [301, 400, 401, 403, 404, 408, 409, 429, 500, 502, 503, 511].map(FailureTable.backend)
          + [1, 67, 69, 75, 77, 78].map { FailureTable.exec(exitStatus: $0) }
          + [FailureTable.execNotStarted, FailureTable.execKilled]
          + FailureTable.signature
      }
    return (transport + spoiled + own).map {
      UpstreamFailure(upstream, $0, retryAfter: nil, said: nil)
    }
  }

  /// The same failure with a pause that the server asks for; for simulations.
  package func asking(for pause: Duration) -> UpstreamFailure {
    UpstreamFailure(
      upstream: upstream, failureClass: failureClass.with(retryAfter: pause), code: code,
      message: message,
      severity: severity)
  }

  /// The refusal of a wrong password, for simulations.
  package static func wrongPassword(from upstream: Upstream) -> UpstreamFailure {
    UpstreamFailure(upstream, FailureTable.signIn(status: 401), retryAfter: nil, said: nil)
  }

  /// Cognito's refusal with this message, for example of an expired token; for simulations.
  package static func cognito(saying words: String) -> UpstreamFailure {
    let row =
      FailureTable.cognito.first { !$0.saying.isEmpty && words.contains(bytesOf: $0.saying) }
      ?? FailureTable.unknownRefusal
    return UpstreamFailure(.cognitoIdentity, row, retryAfter: nil, said: words)
  }
}
