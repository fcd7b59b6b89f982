/// A sign-in with user name and password at a backend's `login_url`.
public struct PasswordSignIn: Sendable, Equatable {
  /// What a sign-in gave.
  public struct Session: Sendable, Equatable {
    /// Sent as bearer token on the callbacks of this session.
    public let token: Secret
    /// Who the backend says the user is; nil leaves it to `user_identifier`.
    public let userIdentifier: String?

    public init(token: Secret, userIdentifier: String? = nil) {
      self.token = token
      self.userIdentifier = userIdentifier
    }
  }

  /// The backend's name in the configuration.
  public let backend: String
  /// With its placeholders expanded.
  public let url: String
  public let headers: [HTTPHeader]
  /// credd's own.
  public let bearer: Secret?

  public init(backend: String, url: String, headers: [HTTPHeader] = [], bearer: Secret? = nil) {
    self.backend = backend
    self.url = url
    self.headers = headers
    self.bearer = bearer
  }

  /// `POST {"Username","Password","DeveloperProviderName"}`.
  public func request(
    username: String, password: Secret, developerProvider: String
  ) throws(InvalidInput) -> HTTPRequest {
    var writer = JSONWriter()
    writer.beginObject()
    writer.field("Username", username)
    writer.field("Password", password)
    writer.field("DeveloperProviderName", developerProvider)
    writer.endObject()
    return try BackendRequest.make(
      .post, url, headers: headers, bearer: bearer, json: Secret(writer.bytes))
  }

  /// Reads `{"SessionToken","DeveloperUserIdentifier"?}`, each also with a lower-case first letter.
  public func session(from reply: HTTPReply) throws(UpstreamFailure) -> Session {
    let upstream = Upstream.backend(backend)
    guard reply.isSuccess, !reply.looksLikeHTML else { throw .signIn(reply, from: upstream) }
    let object = try JSONReply.object(reply.body, limit: Limits.backendReplyBytes, from: upstream)
    return try checked(upstream) { () throws(InvalidInput) in
      let token = try object.eitherSpelling("SessionToken").requiredSecret("SessionToken")
      // It becomes a header.
      guard token.bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
        throw InvalidInput(field: "SessionToken", reason: "is not printable ASCII")
      }
      let name = "DeveloperUserIdentifier"
      let user = try object.eitherSpelling(name)
      let isNamed = user[name].map { $0 != .null } ?? false
      let identifier = isNamed ? try user.requiredText(name) : nil
      guard (identifier?.unicodeScalars.count ?? 1) <= 1024 else {
        throw InvalidInput(field: name, reason: "is over 1024 characters")
      }
      return Session(token: token, userIdentifier: identifier)
    }
  }
}
