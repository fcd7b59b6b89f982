/// `login`.
public struct LoginRequest: Sendable, Equatable {
  public var profile: String
  public var signIn: SignInInput
  /// One of the roles in a SAML assertion (Cognito API reference, CustomRoleArn).
  public var customRoleARN: String?
  /// Data for the triggers of a user pool, sent with each request of the sign-in; nil if the line
  /// has none.
  public var metadata: ClientMetadata?
  /// Data for the triggers, sent only with the first request.
  public var validationData: ClientMetadata?

  public init(
    profile: String = ProfileName.default, signIn: SignInInput, customRoleARN: String? = nil,
    metadata: ClientMetadata? = nil, validationData: ClientMetadata? = nil
  ) {
    self.profile = profile
    self.signIn = signIn
    self.customRoleARN = customRoleARN
    self.metadata = metadata
    self.validationData = validationData
  }
}

/// The means and the data with which a user signs in.
public enum SignInInput: Sendable, Equatable {
  /// No credentials: the backend trusts this host. Signs a user in again after a `logout`.
  case host
  /// For a user pool that asks for something other than a password, or that asks for the password
  /// itself.
  case username(String)
  /// Goes to the backend's `login_url`, or is proved to a user pool.
  ///
  /// - Parameter linking: logins that the backend links to the user of the password.
  case password(username: String, password: Secret, linking: LoginsMap = LoginsMap())
  /// A developer token of the client, with its IdentityId.
  case developerToken(identityID: IdentityID, token: DeveloperToken)
  /// Tokens of social, OpenID Connect or SAML providers; never a developer token.
  ///
  /// - Parameters:
  ///   - identityID: the identity that the client chose. Only Cognito knows whether it is the
  ///     user's; until it has answered, no other server gets it.
  ///   - isAlone: the logins replace the held ones, and no backend links them.
  case logins(LoginsMap, identityID: IdentityID? = nil, isAlone: Bool = false)
  /// A browser goes to the provider, or to the user pool's Hosted UI.
  case browser(BrowserLogin)
  /// The user types a code on another device.
  case device
  /// A user pool has accepted the user. This is never in a request: it is the result of a
  /// conversation with the pool.
  case providerTokens(AcceptedSignIn)
}

/// `browser` of a `login`: what the client chooses from the profile's ways.
public struct BrowserLogin: Sendable, Equatable {
  public var redirectURI: String?
  public var identityProvider: String?
  public var prompt: AuthorizationRequest.Prompt?
  /// A subset of the profile's scopes.
  public var scopes: [String]?

  public init(
    redirectURI: String? = nil, identityProvider: String? = nil,
    prompt: AuthorizationRequest.Prompt? = nil, scopes: [String]? = nil
  ) {
    self.redirectURI = redirectURI
    self.identityProvider = identityProvider
    self.prompt = prompt
    self.scopes = scopes
  }
}

extension SignInInput {
  /// The logins that a client brings; nil for none.
  public var logins: LoginsMap? {
    switch self {
    case .logins(let map, _, _): map
    case .password(_, _, let map): map.isEmpty ? nil : map
    case .host, .username, .developerToken, .browser, .device, .providerTokens: nil
    }
  }
}

extension LoginRequest {
  /// Checks Cognito's documented limits, before any call.
  init(_ object: RequestObject) throws(ProtocolError) {
    let role = try object.text("custom_role_arn")
    if let role {
      let isARN = role.hasPrefix("arn:") && role.utf8.allSatisfy(\.isVisible)
      guard isARN, Limits.Upstream.roleARNLength.contains(role.utf8.count) else {
        throw .invalid(
          #""custom_role_arn" must be an ARN of \#(Limits.Upstream.roleARNLength.lowerBound) to "#
            + "\(Limits.Upstream.roleARNLength.upperBound) characters")
      }
    }
    let (metadata, validationData) = try object.triggerTexts()
    self.init(
      profile: try object.profile(), signIn: try SignInInput(object), customRoleARN: role,
      metadata: metadata, validationData: validationData)
  }
}

extension SignInInput {
  fileprivate init(_ object: RequestObject) throws(ProtocolError) {
    try Self.check("password", comesWith: "username", in: object)
    try Self.check("token", comesWith: "identity_id", in: object)
    if object["logins"] == nil {
      try Self.check("identity_id", comesWith: "token", in: object)
      try Self.check("alone", comesWith: "logins", in: object)
    }
    if let browser = object["browser"] {
      try Self.checkAlone("browser", in: object)
      self = .browser(try BrowserLogin(browser))
      return
    }
    if object["device"] != nil {
      try Self.checkAlone("device", in: object)
      guard try object.flag("device") else { throw .invalid("\"device\" must be true") }
      self = .device
      return
    }
    switch (object["username"], object["token"], object["logins"]) {
    case (.some, nil, nil) where object["identity_id"] == nil && object["password"] == nil:
      self = .username(try object.username())
    case (.some, nil, let logins)
    where object["password"] != nil && object["identity_id"] == nil && object["alone"] == nil:
      self = .password(
        username: try object.username(), password: try object.password(),
        linking: try Self.map(logins))
    case (nil, .some, nil): self = try Self.developerToken(object)
    case (nil, nil, .some(let logins)): self = try Self.logins(logins, object)
    case (nil, nil, nil): self = .host
    default:
      throw .invalid(
        #""login" takes one of "username" with or without "password", "identity_id" with "token", "#
          + #""logins", perhaps with "identity_id", "browser" and "device"; "username" with "#
          + #""password" may have "logins" beside it"#)
    }
  }

  private static func check(
    _ key: String, comesWith other: String, in object: RequestObject
  ) throws(ProtocolError) {
    guard object[key] == nil || object[other] != nil else {
      throw .invalid("\"\(key)\" needs \"\(other)\"")
    }
  }

  /// With a browser or a device code, the user who signs in there is the user of the session.
  private static func checkAlone(
    _ key: String, in object: RequestObject
  ) throws(ProtocolError) {
    let others = [
      "browser", "device", "username", "password", "identity_id", "token", "logins", "alone",
    ]
    if let other = others.first(where: { $0 != key && object[$0] != nil }) {
      throw .invalid("\"\(key)\" cannot be combined with \"\(other)\"")
    }
  }

  private static func identityID(_ object: RequestObject) throws(ProtocolError) -> IdentityID {
    guard let identityID = try? IdentityID(object.text("identity_id") ?? "") else {
      throw .invalid(
        "\"identity_id\" must be REGION:UUID of at most \(Limits.Upstream.identityIDLength) characters"
      )
    }
    return identityID
  }

  private static func developerToken(_ object: RequestObject) throws(ProtocolError) -> SignInInput {
    let identityID = try identityID(object)
    let secret = try object.secret("token") ?? Secret("")
    guard let token = try? DeveloperToken(secret) else {
      throw .invalid("\"token\" must be 1 to \(Limits.Upstream.tokenLength) characters")
    }
    return .developerToken(identityID: identityID, token: token)
  }

  private static func logins(
    _ value: JSONValue, _ object: RequestObject
  ) throws(ProtocolError) -> SignInInput {
    let logins = try map(value)
    let identityID = object["identity_id"] == nil ? nil : try identityID(object)
    return .logins(logins, identityID: identityID, isAlone: try object.flag("alone"))
  }

  /// - Parameter value: nil for no logins.
  private static func map(_ value: JSONValue?) throws(ProtocolError) -> LoginsMap {
    guard let value else { return LoginsMap() }
    guard case .object(let members) = value,
      (1...Limits.Upstream.logins).contains(members.count)
    else {
      throw .invalid(
        "\"logins\" must be an object of 1 to \(Limits.Upstream.logins) providers and tokens")
    }
    var logins = LoginsMap()
    for member in members { try set(member, in: &logins) }
    guard !logins.holdsDeveloperToken else {
      throw .invalid(#"a developer token goes into "token", with its "identity_id""#)
    }
    return logins
  }

  private static func set(
    _ member: JSONMember, in logins: inout LoginsMap
  ) throws(ProtocolError) {
    let provider = "provider \(member.key.quoted) at byte \(member.keyOffset)"
    // The names of Cognito's providers are host names, ARNs, and paths below them, all in ASCII.
    guard member.key.utf8.allSatisfy({ $0 < 0x80 }) else {
      throw .invalid("\(provider) must be ASCII")
    }
    guard let token = member.value.secret else {
      throw .invalid("\(provider) must have a string for a token")
    }
    do {
      try logins.set(member.key, token: token)
    } catch {
      throw .invalid("\(provider): logins must not \(error.reason)")
    }
  }
}

extension RequestObject {
  /// `username`: the user's name at the backend.
  func username() throws(ProtocolError) -> String {
    let username = try text("username") ?? ""
    guard UserPoolInput.isName(username, upTo: Limits.Session.usernameLength) else {
      throw .invalid(
        "\"username\" must be 1 to \(Limits.Session.usernameLength) characters without controls")
    }
    return username
  }

  func password(_ key: String = "password") throws(ProtocolError) -> Secret {
    let password = try secret(key) ?? Secret("")
    guard (1...Limits.Session.passwordBytes).contains(password.count) else {
      throw .invalid("\"\(key)\" must be 1 to \(Limits.Session.passwordBytes) bytes")
    }
    return password
  }
}

extension BrowserLogin {
  private static let keys = ["redirect_uri", "identity_provider", "prompt", "scopes"]

  fileprivate init(_ value: JSONValue) throws(ProtocolError) {
    guard case .object(let members) = value else { throw .invalid("\"browser\" must be an object") }
    if let stray = members.first(where: { member in !Self.keys.contains(where: member.isNamed) }) {
      throw .invalid(
        "unknown key \(stray.key.quoted) in \"browser\" at byte \(stray.keyOffset)"
          + NearestName.suggestion(stray.key, in: Self.keys))
    }
    redirectURI = try Self.text(value, "redirect_uri")
    identityProvider = try Self.text(value, "identity_provider")
    if let word = try Self.text(value, "prompt") {
      guard let known = AuthorizationRequest.Prompt(rawValue: word) else {
        let words = AuthorizationRequest.Prompt.allCases.map(\.rawValue.quoted)
        throw .invalid("\"prompt\" must be one of \(words.joined(separator: ", "))")
      }
      prompt = known
    }
    scopes = try Self.scopes(value["scopes"])
  }

  private static func text(_ value: JSONValue, _ key: String) throws(ProtocolError) -> String? {
    guard let member = value[key] else { return nil }
    guard let text = member.text, (1...1024).contains(text.utf8.count) else {
      throw .invalid("\"\(key)\" must be a string of 1 to 1024 bytes")
    }
    return text
  }

  private static func scopes(_ value: JSONValue?) throws(ProtocolError) -> [String]? {
    guard let value else { return nil }
    guard case .array(let elements) = value, elements.count <= Limits.OIDC.scopes else {
      throw .invalid("\"scopes\" must be a list of at most \(Limits.OIDC.scopes) strings")
    }
    var scopes: [String] = []
    for element in elements {
      guard let text = element.text, (1...256).contains(text.utf8.count) else {
        throw .invalid("\"scopes\" must hold strings of 1 to 256 bytes")
      }
      scopes.append(text)
    }
    return scopes
  }
}
