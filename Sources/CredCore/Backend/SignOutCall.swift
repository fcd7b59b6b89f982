/// The call to a backend's `logout_url`, for `logout` with `global`.
public struct SignOutCall: Sendable, Equatable {
  /// The backend's name in the configuration.
  public let backend: String
  /// With its placeholders expanded.
  public let url: String
  public let headers: [HTTPHeader]
  /// The session's token, else credd's own.
  public let bearer: Secret?

  public init(backend: String, url: String, headers: [HTTPHeader] = [], bearer: Secret? = nil) {
    self.backend = backend
    self.url = url
    self.headers = headers
    self.bearer = bearer
  }

  /// `POST {"IdentityPoolId","DeveloperProviderName","DeveloperUserIdentifier","IdentityId"?}`.
  public func request(_ query: TokenQuery) throws(InvalidInput) -> HTTPRequest {
    var named = query
    named.logins = LoginsMap()
    return try BackendRequest.make(
      .post, url, headers: headers, bearer: bearer, json: named.json)
  }

  /// Signed out: any success, and whatever says that there was no such session.
  public func check(_ reply: HTTPReply) throws(UpstreamFailure) {
    switch reply.status {
    case 401, 404, 410: return
    case _ where reply.isSuccess && !reply.looksLikeHTML: return
    default:
      throw .backend(
        reply, from: .backend(backend),
        said: reply.explanation(hiding: bearer.map { [$0] } ?? []))
    }
  }
}
