extension UpstreamFailure {
  /// No answer arrived.
  public static func transport(_ failure: TransportFailure, from upstream: Upstream) -> Self {
    Self(upstream, FailureTable.transport(failure), retryAfter: nil, said: nil)
  }

  /// A request that was not sent, because Cognito or HTTP does not allow it.
  public static func notSent(_ input: InvalidInput, to upstream: Upstream) -> Self {
    Self(upstream, FailureTable.notSent, retryAfter: nil, said: input.description)
  }

  /// A success that is none: what is missing or absurd in it.
  static func malformed(_ input: InvalidInput, from upstream: Upstream) -> Self {
    Self(upstream, FailureTable.malformedReply, retryAfter: nil, said: input.description)
  }

  /// An answer for another pool than the one asked for.
  static func wrongPool(from upstream: Upstream) -> Self {
    Self(upstream, FailureTable.wrongPool, retryAfter: nil, said: nil)
  }

  /// An answer of Cognito or STS that is not a success.
  ///
  /// - Parameter error: its name without namespace and its message, where the answer had them.
  static func aws(
    _ reply: HTTPReply, _ error: RemoteError?, from upstream: Upstream, table: [FailureTable.Row]
  ) -> Self {
    let rows = table + FailureTable.anyService
    let known = error.flatMap { rows.first(where: $0.fits) }
    let row = known ?? awsRow(reply, named: error != nil)
    return Self(upstream, row, retryAfter: reply.retryAfter, said: error?.description)
  }

  /// An answer of a backend to a token callback that is not a success.
  static func backend(_ reply: HTTPReply, from upstream: Upstream, said: String?) -> Self {
    let row =
      reply.looksLikeHTML && reply.isSuccess
      ? FailureTable.html : FailureTable.backend(status: reply.status)
    return Self(
      upstream, row, retryAfter: reply.retryAfter,
      said: "status \(reply.status)\(said.map { ": \($0)" } ?? "")")
  }

  /// An answer of a backend to a sign-in that is not a success. What it says is left out: it may
  /// well repeat the password.
  static func signIn(_ reply: HTTPReply, from upstream: Upstream) -> Self {
    let row =
      reply.looksLikeHTML && reply.isSuccess
      ? FailureTable.html : FailureTable.signIn(status: reply.status)
    return Self(
      upstream, row, retryAfter: reply.retryAfter, said: "status \(reply.status)")
  }

  private static func awsRow(_ reply: HTTPReply, named: Bool) -> FailureTable.Row {
    switch reply.status {
    case 300..<400: FailureTable.redirect
    case 407: FailureTable.proxyRefuses
    case 429: FailureTable.throttledByStatus
    case 511: FailureTable.html  // Network Authentication Required, RFC 6585 §6
    case 500...: FailureTable.serverFault
    case _ where reply.looksLikeHTML: FailureTable.html
    case 400..<500 where named: FailureTable.unknownRefusal
    default: FailureTable.malformedReply
    }
  }
}
