import CredCore
import CredService

/// A request to an upstream, read from its bytes.
struct UpstreamQuestion {
  enum Kind {
    case login(isRight: Bool)
    case logout
    /// A token callback; signed if it goes to Cognito itself.
    case token(isSigned: Bool)
    case getID
    case getOpenIDToken
    case getCredentials
    case assumeRole(duration: Double)
  }

  /// An index in ``SimulatedUpstreams/endpoints``.
  let endpoint: Int
  let kind: Kind
  /// The owner that the request is for, if the request names one.
  var owner: Owner?
  /// The token to exchange, and whether there is one.
  var token: Seal?
  var hasToken = false
  /// The owner of the identity in the request.
  var identity: Owner?

  /// Whether a session makes only one such call at a time.
  var isOfSession: Bool { if case .logout = kind { false } else { true } }

  var words: String {
    switch kind {
    case .login: "a sign-in"
    case .logout: "a sign-out"
    case .token: "a token callback"
    case .getID: "GetId"
    case .getOpenIDToken: "GetOpenIdToken"
    case .getCredentials: "GetCredentialsForIdentity"
    case .assumeRole: "AssumeRoleWithWebIdentity"
    }
  }
}

// MARK: Reading

extension SimulatedUpstreams {
  func read(_ request: HTTPRequest) -> UpstreamQuestion? {
    if let address = addresses[request.url] {
      let body = try? JSONValue.parse(request.body.bytes)
      if address.isLogin { return login(body, address.endpoint) }
      let bearer = request.header("Authorization").flatMap { Seal($0.bytes) }
      if address.isLogout {
        return UpstreamQuestion(
          endpoint: address.endpoint, kind: .logout, owner: bearer?.owner,
          identity: (body?["IdentityId"]?.text).flatMap(Owner.init(identity:)))
      }
      return callback(body, bearer, isSigned: false, address.endpoint)
    }
    guard let target = request.header("X-Amz-Target")?.exposedText() else { return role(request) }
    let operation = target.split(separator: ".").last.map(String.init) ?? ""
    let body = try? JSONValue.parse(request.body.bytes)
    if operation == "GetOpenIdTokenForDeveloperIdentity" {
      return configuration.backends.firstIndex { $0.type == "cognito" }.flatMap {
        callback(body, nil, isSigned: true, $0)
      }
    }
    return identityCall(operation, body)
  }

  func read(_ command: Command) -> UpstreamQuestion? {
    configuration.backends.firstIndex { $0.command == command.arguments.first }.flatMap {
      callback(try? JSONValue.parse(command.input.bytes), nil, isSigned: false, $0)
    }
  }

  private func login(_ body: JSONValue?, _ endpoint: Int) -> UpstreamQuestion {
    let number = (body?["Username"]?.secret).flatMap { Int($0.bytes) }
    let isRight = body?["Password"]?.text == SimulatedPeople.password
    return UpstreamQuestion(
      endpoint: endpoint, kind: .login(isRight: isRight), owner: number.map(Owner.init(number:)))
  }

  /// After a sign-in the session token names the user; otherwise it is the host's user.
  private func callback(
    _ body: JSONValue?, _ bearer: Seal?, isSigned: Bool, _ endpoint: Int
  ) -> UpstreamQuestion? {
    let identifier =
      isSigned
      ? body?["Logins"]?["login.example.app"]?.text : body?["DeveloperUserIdentifier"]?.text
    let owner = bearer?.owner ?? identifier.flatMap(SimulatedUsers.owner(ofIdentifier:))
    var identity = (body?["IdentityId"]?.text).flatMap(Owner.init(identity:))
    if world.fault == .claimedIdentities { identity = owner?.session.flatMap { claims[$0] } }
    return UpstreamQuestion(
      endpoint: endpoint, kind: .token(isSigned: isSigned), owner: owner, identity: identity)
  }

  private func identityCall(_ operation: String, _ body: JSONValue?) -> UpstreamQuestion? {
    let kind: UpstreamQuestion.Kind
    switch operation {
    case "GetId": kind = .getID
    case "GetOpenIdToken": kind = .getOpenIDToken
    case "GetCredentialsForIdentity": kind = .getCredentials
    default: return nil
    }
    guard let endpoint = endpoints.firstIndex(where: { $0.name == operation }) else { return nil }
    var question = UpstreamQuestion(endpoint: endpoint, kind: kind)
    question.identity = (body?["IdentityId"]?.text).flatMap(Owner.init(identity:))
    if case .object(let logins) = body?["Logins"], let first = logins.first {
      question.hasToken = true
      question.token = (first.value.secret).flatMap { Seal($0.bytes) }
    }
    question.owner = question.token?.owner ?? question.identity
    return question
  }

  private func role(_ request: HTTPRequest) -> UpstreamQuestion? {
    let form = request.body.bytes
    let duration = form.field("DurationSeconds").flatMap {
      Double(String(decoding: $0, as: UTF8.self))
    }
    var question = UpstreamQuestion(
      endpoint: endpoints.count - 1, kind: .assumeRole(duration: duration ?? 3600))
    question.hasToken = true
    question.token = form.field("WebIdentityToken").flatMap { Seal($0) }
    question.owner = question.token?.owner
    return question
  }
}

extension HTTPRequest {
  fileprivate func header(_ name: String) -> Secret? {
    headers.first { $0.name == name }?.value
  }
}

extension [UInt8] {
  /// A field of a form; the simulation's values need no decoding.
  fileprivate func field(_ name: String) -> ArraySlice<UInt8>? {
    for pair in split(separator: UInt8(ascii: "&")) where pair.starts(with: name.utf8) {
      let value = pair.dropFirst(name.utf8.count)
      if value.first == UInt8(ascii: "=") { return value.dropFirst() }
    }
    return nil
  }
}
