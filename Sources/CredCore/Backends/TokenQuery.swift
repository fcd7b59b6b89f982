/// The request to every type of backend: a token for one user of one developer provider in one
/// pool.
public struct TokenQuery: Sendable, Equatable {
  public var pool: IdentityPoolID
  public var developerProvider: String
  public var userIdentifier: String
  /// The user's known identity; a guest's identity becomes the user's.
  public var identity: IdentityID?
  /// Social logins that the backend links.
  public var logins: LoginsMap
  /// The caller, for a backend with `send_caller`.
  public var caller: CallerNote?

  public init(
    pool: IdentityPoolID, developerProvider: String, userIdentifier: String,
    identity: IdentityID? = nil, logins: LoginsMap = LoginsMap(), caller: CallerNote? = nil
  ) {
    self.caller = caller
    self.pool = pool
    self.developerProvider = developerProvider
    self.userIdentifier = userIdentifier
    self.identity = identity
    self.logins = logins
  }

  /// `{"IdentityPoolId","DeveloperProviderName","DeveloperUserIdentifier","IdentityId"?,"Logins"?,`
  /// `"Caller"?}`: the body of an HTTP callback and the input of a command.
  public var json: Secret {
    var writer = JSONWriter()
    writer.beginObject()
    writer.field("IdentityPoolId", pool.description)
    writer.field("DeveloperProviderName", developerProvider)
    writer.field("DeveloperUserIdentifier", userIdentifier)
    if let identity { writer.field("IdentityId", identity.description) }
    writer.logins(logins)
    if let caller { caller.write(to: &writer) }
    writer.endObject()
    return Secret(writer.bytes)
  }
}

/// The user, and perhaps the process, for whom a backend is called. It is for the backend's log.
/// The kernel vouches for the uid and the unit; nobody vouches for the purpose.
public struct CallerNote: Sendable, Equatable {
  /// Nil for a uid without a name.
  public var user: String?
  public var uid: UInt32
  /// The systemd unit of the process; nil if it is unknown, and for a call without a caller.
  public var unit: String?
  public var purpose: String?

  public init(user: String?, uid: UInt32, unit: String? = nil, purpose: String? = nil) {
    self.user = user
    self.uid = uid
    self.unit = unit
    self.purpose = purpose
  }

  fileprivate func write(to writer: inout JSONWriter) {
    writer.field("Caller") { writer in
      writer.field("User", user)
      writer.field("Uid", Int64(uid))
      writer.field("Unit", unit)
      writer.field("Purpose", purpose)
    }
  }
}

extension TokenQuery {
  /// Reads `{"IdentityId","Token","IdentityPoolId"?}`, each also with a lower-case first letter;
  /// other members are ignored.
  ///
  /// - Throws: if the reply is malformed or belongs to another pool. The pool's name, the
  ///   identity's region or the token's audience shows that. Cognito would refuse all three with a
  ///   less clear message.
  func reply(
    from body: Secret, limit: Int, limits: JSONLimits = .standard, serverTime: WallTime? = nil,
    from upstream: Upstream
  ) throws(UpstreamFailure) -> TokenReply {
    let object = try JSONReply.object(body, limit: limit, limits: limits, from: upstream)
    let (reply, named) = try checked(upstream) { () throws(InvalidInput) in
      let identity = try IdentityID(
        object.memberInEitherCase("IdentityId").requiredText("IdentityId"))
      let token = try DeveloperToken(object.memberInEitherCase("Token").requiredSecret("Token"))
      let named = try object.memberInEitherCase("IdentityPoolId")["IdentityPoolId"]
      if let named, named != .null, named.text == nil {
        throw InvalidInput(field: "IdentityPoolId", reason: "is no string")
      }
      return (
        TokenReply(identity: identity, token: token, serverTime: serverTime), named?.text
      )
    }
    let audience = reply.token.audience.flatMap { try? IdentityPoolID($0) }
    guard named == nil || named == pool.description, reply.identity.region == pool.region,
      audience == nil || audience == pool
    else { throw .wrongPool(from: upstream) }
    return reply
  }
}

extension JSONValue {
  /// An object with only that member. The name may have a lower-case first letter, as in the
  /// samples of the mobile SDKs. The object is empty if the member is missing.
  ///
  /// - Throws: if both spellings are there, because then it is unclear which one counts.
  func memberInEitherCase(_ name: String) throws(InvalidInput) -> JSONValue {
    let lower = name.prefix(1).lowercased() + name.dropFirst()
    switch (self[name], self[lower]) {
    case (.some, .some):
      throw InvalidInput(field: name, reason: "is there twice, in both spellings")
    case (let value?, nil), (nil, let value?):
      return .object([JSONMember(key: name, keyOffset: 0, value: value)])
    case (nil, nil): return .object([])
    }
  }
}
