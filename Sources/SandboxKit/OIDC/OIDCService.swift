import FoundationEssentials

/// The provider's URLs, below /oidc.
enum OIDCService {
  static let prefix = "/oidc"

  /// The name of a call for faults and counters; nil if the path does not belong to the provider.
  static func operation(of request: HTTPRequest) -> String? {
    switch (request.method, request.path) {
    case ("GET", prefix + "/.well-known/openid-configuration"): "discovery"
    case ("GET", prefix + "/jwks"): "jwks"
    case ("GET", prefix + "/authorize"), ("POST", prefix + "/authorize"): "authorize"
    case ("POST", prefix + "/token"): "token"
    case ("POST", prefix + "/device"): "device"
    case ("GET", prefix + "/activate"), ("POST", prefix + "/activate"): "activate"
    case ("POST", prefix + "/revoke"): "revoke"
    case ("GET", prefix + "/logout"): "logout"
    default: nil
    }
  }

  static func reply(
    to request: HTTPRequest, in state: inout SandboxState, at now: Date
  ) -> HTTPReply {
    state.oidc.forget(endedBefore: now)
    let call = OIDCCall(request: request, base: base(of: request), now: now)
    do throws(OAuthFault) {
      return switch operation(of: request) {
      case "discovery": call.discovery(in: &state)
      case "jwks": try call.keys(in: state)
      case "authorize": try call.authorize(in: &state)
      case "token": try call.token(in: &state)
      case "device": try call.startDevice(in: &state)
      case "activate": try call.activate(in: &state)
      case "revoke": try call.revoke(in: &state)
      default: try call.logout(in: &state)
      }
    } catch {
      return error.reply
    }
  }

  static func reply(with error: ServiceError) -> HTTPReply {
    OAuthFault(error.code, error.message, status: error.status).reply
  }

  /// The URL that the client called, without a path. The sandbox does not know its own address.
  private static func base(of request: HTTPRequest) -> String {
    "http://" + (request.header("Host") ?? "127.0.0.1")
  }
}

/// One request to the provider.
struct OIDCCall {
  let request: HTTPRequest
  /// `http://HOST:PORT`.
  let base: String
  let now: Date

  func issuer(_ settings: OIDCSettings) -> String {
    base + OIDCService.prefix + (settings.hasSlash ? "/" : "")
  }

  private var url: String { base + OIDCService.prefix }

  func form() throws(OAuthFault) -> OAuthForm {
    let type = request.header("Content-Type")?.lowercased() ?? ""
    guard type.hasPrefix("application/x-www-form-urlencoded") else {
      throw .invalidRequest("the body is not application/x-www-form-urlencoded")
    }
    // A secret in a query would appear in logs.
    guard request.query.isEmpty else { throw .invalidRequest("parameters belong into the body") }
    return try OAuthForm(String(decoding: request.body, as: UTF8.self))
  }

  func discovery(in state: inout SandboxState) -> HTTPReply {
    let settings = state.oidc.settings
    let lies = state.oidc.settings.takes(.discovery)
    return HTTPReply(
      headers: [HTTPField("Cache-Control", "max-age=3600")],
      json: [
        "issuer": .string(lies ? "https://evil.example/" : issuer(settings)),
        "authorization_endpoint": .string(url + "/authorize"),
        "token_endpoint": .string(url + "/token"), "jwks_uri": .string(url + "/jwks"),
        "device_authorization_endpoint": .string(url + "/device"),
        "revocation_endpoint": .string(url + "/revoke"),
        "end_session_endpoint": .string(url + "/logout"),
        "response_types_supported": ["code"], "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": .bool(settings.namesIssuer),
      ])
  }

  func keys(in state: SandboxState) throws(OAuthFault) -> HTTPReply {
    guard let key = try? state.issuer.publicKey(for: .rs256) else {
      throw OAuthFault("server_error", "the key cannot be shown", status: 500)
    }
    return HTTPReply(json: ["keys": [key]])
  }

  /// Ends the browser's session, but revokes no token. The page leads only to a registered URI.
  func logout(in state: inout SandboxState) throws(OAuthFault) -> HTTPReply {
    let form = try OAuthForm(request.query)
    let id = try form.required("client_id")
    guard let client = state.oidc.clients[id] else {
      throw .invalidRequest("client \(id) is not known")
    }
    state.oidc.settings.signedInAs = nil
    guard let target = form["post_logout_redirect_uri"] else {
      return HTTPReply(
        headers: [HTTPField("Content-Type", "text/html")], body: Array("Signed out.".utf8))
    }
    guard client.logoutURIs.contains(target) else {
      throw .invalidRequest("post_logout_redirect_uri is not registered")
    }
    return HTTPReply(status: 302, headers: [HTTPField("Location", target)])
  }
}
