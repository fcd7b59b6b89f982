/// The token callback over HTTP: `type = http`.
public struct HTTPCallback: Sendable, Equatable {
  /// The backend's name in the configuration.
  public let backend: String
  public let method: HTTPRequest.Method
  /// With its placeholders expanded.
  public let url: String
  /// The configured ones.
  public let headers: [HTTPHeader]
  /// Sent as `Authorization: Bearer`: the user's session token after a sign-in, else credd's own.
  public let bearer: Secret?

  public init(
    backend: String, method: HTTPRequest.Method = .post, url: String, headers: [HTTPHeader] = [],
    bearer: Secret? = nil
  ) {
    self.backend = backend
    self.method = method
    self.url = url
    self.headers = headers
    self.bearer = bearer
  }

  /// A `GET` carries nothing but URL and headers: the URL then says who the user is.
  ///
  /// - Throws: where the bearer token cannot stand in a header.
  public func request(_ query: TokenQuery) throws(InvalidInput) -> HTTPRequest {
    try BackendRequest.make(
      method, url, headers: headers, bearer: bearer, json: method == .get ? nil : query.json)
  }

  public func reply(
    _ reply: HTTPReply, to query: TokenQuery
  ) throws(UpstreamFailure) -> TokenReply {
    let upstream = Upstream.backend(backend)
    guard reply.isSuccess, !reply.looksLikeHTML else {
      let sent = query.logins.logins.map(\.token) + (bearer.map { [$0] } ?? [])
      throw .backend(reply, from: upstream, said: reply.explanation(hiding: sent))
    }
    return try query.reply(
      from: reply.body, limit: Limits.backendReplyBytes, serverTime: reply.date, from: upstream)
  }
}
