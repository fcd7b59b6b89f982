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

/// What all calls to a backend over HTTP have in common.
enum BackendRequest {
  static func make(
    _ method: HTTPRequest.Method, _ url: String, headers: [HTTPHeader], bearer: Secret?,
    json: Secret?
  ) throws(InvalidInput) -> HTTPRequest {
    var request = HTTPRequest(method: method, url: url)
    request.set("Accept", to: Secret("application/json"))
    if let json {
      request.set("Content-Type", to: Secret("application/json"))
      request.body = json
    }
    for header in headers { request.set(header.name, to: header.value) }
    if let bearer { try request.authorize(bearer: bearer) }
    return request
  }
}

extension HTTPRequest {
  /// One header of a name, the last one set: a configured one replaces ours, a bearer token all.
  fileprivate mutating func set(_ name: String, to value: Secret) {
    let lower = name.lowercased()
    headers.removeAll { $0.name.lowercased() == lower }
    headers.append(HTTPHeader(name, value))
  }

  /// `Authorization: Bearer`. A token file ends in a line break more often than not, so white
  /// space around the token is taken off; within, it is an error.
  fileprivate mutating func authorize(bearer: Secret) throws(InvalidInput) {
    let isSpace: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0D).contains($0) }
    var token = bearer.bytes.drop(while: isSpace)
    while let last = token.last, isSpace(last) { token.removeLast() }
    guard !token.isEmpty, token.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw InvalidInput(field: "bearer token", reason: "is empty or not printable ASCII")
    }
    set("Authorization", to: Secret(Array("Bearer ".utf8) + token))
  }
}

extension HTTPReply {
  /// What the backend says about an error: the `message` of a JSON body, or the first line of a
  /// plain one. Nil for a web page, and where it repeats a secret that it was sent.
  func explanation(hiding secrets: [Secret]) -> String? {
    guard !looksLikeHTML, body.count <= Limits.backendReplyBytes else { return nil }
    let object = try? JSONValue.parse(body.bytes)
    let fields = ["message", "Message", "error_description", "error", "Error"]
    let said = fields.lazy.compactMap { object?[$0]?.secret }.first
    if object != nil, said == nil { return nil }
    let line = said?.bytes[...] ?? body.bytes.prefix { $0 != 0x0A && $0 != 0x0D }
    let head = line.prefix(4096)
    guard !secrets.contains(where: { !$0.isEmpty && head.holds($0.bytes) }) else { return nil }
    return RemoteText.clean(head)
  }
}
