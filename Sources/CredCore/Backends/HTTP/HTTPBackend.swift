/// A backend of type `http`: the token callback, the sign-in at `login_url` and the sign-out at
/// `logout_url`. Each is one request, made here, and one reply, read here.
public struct HTTPBackend: Sendable, Equatable {
  /// The backend's name in the configuration.
  public let name: String
  /// The configured headers, sent with every request.
  public let headers: [HTTPHeader]
  /// This host's own token.
  public let hostToken: Secret?
  /// The user's session token after a sign-in. It replaces the host's token in `Authorization`.
  public let sessionToken: Secret?
  /// Whether users can sign in to the backend.
  public let takesSignIns: Bool

  /// The header for the host's token if `Authorization` has the user's.
  public static let hostHeader = "Credd-Host-Authorization"

  public init(
    name: String, headers: [HTTPHeader] = [], hostToken: Secret? = nil,
    sessionToken: Secret? = nil, takesSignIns: Bool = true
  ) {
    self.name = name
    self.takesSignIns = takesSignIns
    self.headers = headers
    self.hostToken = hostToken
    self.sessionToken = sessionToken
  }

  private var upstream: Upstream { .backend(name) }
  /// Secrets that messages must not repeat.
  private var tokens: [Secret] { [hostToken, sessionToken].compactMap(\.self) }

  private func request(
    _ url: String, _ method: HTTPRequest.Method = .post, json: Secret?
  ) throws(InvalidInput) -> HTTPRequest {
    var request = HTTPRequest(method: method, url: url)
    request.set("Accept", to: Secret("application/json"))
    if let json {
      request.set("Content-Type", to: Secret("application/json"))
      request.body = json
    }
    for header in headers { request.set(header.name, to: header.value) }
    if let token = sessionToken ?? hostToken {
      try request.authorize(bearer: token, in: "Authorization")
    }
    if sessionToken != nil, let hostToken {
      try request.authorize(bearer: hostToken, in: Self.hostHeader)
    }
    return request
  }
}

// MARK: Token callback

extension HTTPBackend {
  /// Asks for a token. A `GET` has no body, so its URL names the user.
  ///
  /// - Parameters:
  ///   - url: the URL with expanded placeholders.
  ///   - isForced: asks for a new token, not one that the backend has kept (RFC 9111 §5.2.1.4).
  /// - Throws: if the bearer token cannot be sent in a header.
  public func tokenRequest(
    _ query: TokenQuery, method: HTTPRequest.Method = .post, url: String, isForced: Bool = false
  ) throws(InvalidInput) -> HTTPRequest {
    var request = try request(url, method, json: method == .get ? nil : query.json)
    if isForced { request.set("Cache-Control", to: Secret("no-cache")) }
    return request
  }

  /// Reads the answer to ``tokenRequest(_:method:url:isForced:)``.
  ///
  /// - Parameter isPersonal: whether a person has signed in to the session, or has an account linked to it.
  public func token(
    from reply: HTTPReply, to query: TokenQuery, isPersonal: Bool = false
  ) throws(UpstreamFailure) -> TokenReply {
    guard reply.isSuccess, !reply.isWebPage else {
      let sent = query.logins.logins.map(\.token) + tokens
      // A person can sign in again.
      let standsOnHost = !isPersonal && sessionToken == nil
      throw .backend(
        reply, from: upstream, hostRefusal(reply, standsOnHost: standsOnHost),
        said: reply.explanation(hiding: sent))
    }
    return try query.reply(
      from: reply.body, limit: Limits.Upstream.backendReplyBytes, serverTime: reply.date,
      from: upstream)
  }

  /// What 401 means if users cannot sign in. Nobody could do what 401 usually asks for. So it is
  /// about the host, and the operator has to act. Nil for another status, and if the backend says
  /// that 401 is about the user.
  ///
  /// - Parameter standsOnHost: whether only the host vouches for the user. If not, and if the host
  ///   shows no token, 401 may be about the other sign-in.
  private func hostRefusal(_ reply: HTTPReply, standsOnHost: Bool) -> FailureTable.Row? {
    guard reply.status == 401, !takesSignIns, !reply.speaksOfUser else { return nil }
    guard hostToken == nil else { return FailureTable.hostRefused }
    return standsOnHost ? FailureTable.hostUnknown : nil
  }
}

// MARK: Sign-in

extension HTTPBackend {
  /// `POST {"Username","Password","DeveloperProviderName"}`.
  ///
  /// - Parameter url: the URL with expanded placeholders.
  /// - Throws: if the bearer token cannot be sent in a header.
  public func signInRequest(
    username: String, password: Secret, developerProvider: String, url: String
  ) throws(InvalidInput) -> HTTPRequest {
    var writer = JSONWriter()
    writer.beginObject()
    writer.field("Username", username)
    writer.field("Password", password)
    writer.field("DeveloperProviderName", developerProvider)
    writer.endObject()
    return try request(url, json: Secret(writer.bytes))
  }

  /// Reads `{"SessionToken","DeveloperUserIdentifier"?}`, each also with a lower-case first letter.
  public func session(from reply: HTTPReply) throws(UpstreamFailure) -> BackendSession {
    guard reply.isSuccess, !reply.isWebPage else { throw .signIn(reply, from: upstream) }
    let object = try JSONReply.object(
      reply.body, limit: Limits.Upstream.backendReplyBytes, from: upstream)
    return try checked(upstream) { () throws(InvalidInput) in
      let token = try object.memberInEitherCase("SessionToken").requiredSecret("SessionToken")
      // The token becomes a header.
      guard token.bytes.allSatisfy(\.isVisible) else {
        throw InvalidInput(field: "SessionToken", reason: "is not printable ASCII")
      }
      let name = "DeveloperUserIdentifier"
      let user = try object.memberInEitherCase(name)
      let isNamed = user[name].map { $0 != .null } ?? false
      let identifier = isNamed ? try user.requiredText(name) : nil
      let limit = Limits.Upstream.userIdentifierLength
      guard (identifier?.unicodeScalars.count ?? 1) <= limit else {
        throw InvalidInput(field: name, reason: "is over \(limit) characters")
      }
      return BackendSession(token: token, developerUserIdentifier: identifier)
    }
  }
}

// MARK: Sign-up

extension HTTPBackend {
  /// `POST {"Username","Password",…}`. Each attribute is a further member under the attribute's
  /// name.
  ///
  /// - Throws: if an attribute has the name of another member.
  public func signUpRequest(
    _ signUp: SignUp, url: String
  ) throws(InvalidInput) -> HTTPRequest {
    var writer = JSONWriter()
    writer.beginObject()
    writer.field("Username", signUp.username)
    writer.field("Password", signUp.password)
    for attribute in signUp.attributes {
      guard !["username", "password"].contains(attribute.name.lowercased()) else {
        throw InvalidInput(
          field: "attributes", reason: "hold \(attribute.name.quoted), which is no attribute")
      }
      writer.field(attribute.name, attribute.value)
    }
    writer.endObject()
    return try request(url, json: Secret(writer.bytes))
  }

  /// Any successful status means that the account was made. A JSON body may say
  /// `{"Confirmed","Delivery"?}`.
  public func signUpResult(
    from reply: HTTPReply, to signUp: SignUp
  ) throws(UpstreamFailure) -> SignUpResult {
    guard reply.isSuccess, !reply.isWebPage else {
      let sent = signUp.secrets + tokens
      throw .signUp(reply, from: upstream, said: reply.explanation(hiding: sent))
    }
    var result = SignUpResult()
    guard reply.body.count <= Limits.Upstream.backendReplyBytes,
      let object = try? JSONValue.parse(foreign: reply.body)
    else { return result }
    result.isConfirmed = (object["Confirmed"] ?? object["confirmed"])?.bool ?? true
    if let delivery = object["Delivery"] ?? object["delivery"],
      let medium = (delivery["Medium"]?.secret).flatMap({ RemoteText.plain($0.bytes) }),
      let destination = (delivery["Destination"]?.secret).flatMap({ RemoteText.plain($0.bytes) })
    {
      result.delivery = SignUpResult.Delivery(medium: medium, destination: destination)
    }
    return result
  }
}

// MARK: Sign-out

extension HTTPBackend {
  /// `POST {"IdentityPoolId","DeveloperProviderName","DeveloperUserIdentifier","IdentityId"?}`, for
  /// `logout` with `global`.
  ///
  /// - Parameter url: the URL with expanded placeholders.
  /// - Throws: if the bearer token cannot be sent in a header.
  public func signOutRequest(
    _ query: TokenQuery, url: String
  ) throws(InvalidInput) -> HTTPRequest {
    var named = query
    named.logins = LoginsMap()
    return try request(url, json: named.json)
  }

  /// Accepts any success, and the statuses that mean an unknown session. A web page means neither. A 401
  /// may be about the host's token, if no other was sent: then the backend must say that it is not.
  public func checkSignOut(_ reply: HTTPReply) throws(UpstreamFailure) {
    let speaksOfSession = sessionToken != nil || hostToken == nil || reply.speaksOfUser
    let isUnknown =
      switch reply.status {
      case 401: speaksOfSession && !reply.refusesHost
      case 404, 410: true
      default: false
      }
    guard reply.isSuccess || isUnknown, !reply.isWebPage else {
      throw .backend(reply, from: upstream, said: reply.explanation(hiding: tokens))
    }
  }
}

extension HTTPRequest {
  /// Replaces the header of that name: a configured header replaces credd's, and a bearer token
  /// replaces both.
  fileprivate mutating func set(_ name: String, to value: Secret) {
    let lower = name.lowercased()
    headers.removeAll { $0.name.lowercased() == lower }
    headers.append(HTTPHeader(name, value))
  }

  /// `Authorization: Bearer`. A token file often ends in a line break, so white space around the
  /// token is removed; white space within the token is an error.
  fileprivate mutating func authorize(
    bearer: Secret, in header: String
  ) throws(InvalidInput) {
    let token = bearer.bytes.trimmed
    guard !token.isEmpty, token.allSatisfy(\.isVisible) else {
      throw InvalidInput(field: "bearer token", reason: "is empty or not printable ASCII")
    }
    set(header, to: Secret(Array("Bearer ".utf8) + token))
  }
}

extension HTTPReply {
  /// Whether a 401 or 403 is about this host and not about the user.
  var refusesHost: Bool {
    (status == 401 || status == 403) && !isWebPage && errorCode == "HostNotAuthorized"
  }

  /// Whether the backend says that a 401 is about the user. The words are credd-authserver's.
  var speaksOfUser: Bool {
    !isWebPage && ["SignInRequired", "SessionUnknown"].contains(errorCode)
  }

  /// The backend's own name of an error: the `Code` of a JSON body.
  var errorCode: String? {
    guard body.count <= Limits.Upstream.backendReplyBytes else { return nil }
    let object = try? JSONValue.parse(foreign: body)
    return (object?["Code"] ?? object?["code"])?.text
  }

  /// The text with which FastAPI and Django REST explain an error.
  var frameworksDetail: String? {
    guard body.count <= Limits.Upstream.backendReplyBytes else { return nil }
    return (try? JSONValue.parse(foreign: body))?["detail"]?.text
  }

  /// The backend's explanation of the error: the `message` of a JSON body, or the first line of a
  /// plain one. Nil for a web page, and if the text repeats a secret that was sent.
  func explanation(hiding secrets: [Secret]) -> String? {
    guard !isWebPage, body.count <= Limits.Upstream.backendReplyBytes else { return nil }
    let object = try? JSONValue.parse(foreign: body)
    let fields = ["message", "Message", "error_description", "error", "Error"]
    let said = fields.lazy.compactMap { object?[$0]?.secret }.first
    if object != nil, said == nil { return nil }
    let line = said?.bytes[...] ?? body.bytes.prefix { !$0.isLineBreak }
    let head = line.prefix(4096)
    guard !secrets.contains(where: { !$0.isEmpty && head.contains(bytes: $0.bytes) }) else {
      return nil
    }
    return RemoteText.clean(head, hiding: sent)
  }
}
