import Foundation
import Testing

/// A host whose profile `default` signs in by browser: at the sandbox's OpenID Connect provider, or at
/// its user pool's Hosted UI.
struct ProviderHost {
  static let redirectURI = "http://127.0.0.1:4711/credd"

  let host: TestHost
  private let redirectURI: String

  /// For requests at the provider. A busy machine may take longer than a few seconds, and then credd asks
  /// once more: the provider counts that as misuse.
  private static let timeout = "30s"

  init(
    _ backend: String = "", profile: String = "", signIn: String = "browser paste device",
    managed: Bool = false
  ) throws {
    redirectURI = Self.redirectURI
    host = try TestHost(managed: managed) { sandbox in
      """
      [backend credd]
      type = oidc
      issuer = \(sandbox.url)/oidc
      client_id = sandbox-public
      redirect_uri = http://127.0.0.1/
      sign_in = \(signIn)
      timeout = \(Self.timeout)
      \(backend)
      [profile default]
      identity_pool_id = \(Sandbox.pool)
      backend = credd
      cognito_endpoint = \(sandbox.url)
      \(profile)

      """
    }
    let name = "127.0.0.1:\(host.sandbox.port)/oidc"
    try host.sandbox.control(
      "POST", "pool",
      #"{"CognitoIdentityProviders":[{"ProviderName":"\#(name)","ClientId":"sandbox-public"}]}"#)
    try provider(#""SignedInAs":"alice""#)
  }

  /// Whose profile has no identity pool.
  ///
  /// - Parameter role: for which STS takes the provider's ID tokens, once ``trust(_:with:)`` was called.
  init(direct profile: String, role: String) throws {
    redirectURI = Self.redirectURI
    host = try TestHost { sandbox in
      """
      [backend credd]
      type = oidc
      issuer = \(sandbox.url)/oidc
      client_id = sandbox-public
      redirect_uri = http://127.0.0.1/
      timeout = \(Self.timeout)
      [profile default]
      backend = credd
      flow = direct
      region = us-east-1
      role_arn = \(role)
      sts_endpoint = \(sandbox.url)
      \(profile)

      """
    }
    try host.sandbox.control(
      "POST", "openid-provider",
      #"{"Url":"\#(host.sandbox.url)/oidc","ClientIDList":["sandbox-public"]}"#)
    try provider(#""SignedInAs":"alice""#)
  }

  /// Lets a role trust one user of the provider.
  func trust(_ subject: String, with role: String) throws {
    try host.sandbox.control(
      "POST", "role",
      #"{"Arn":"\#(role)","OpenIDConnect":[{"Provider":"127.0.0.1:\#(host.sandbox.port)/oidc","#
        + #""Audiences":["sandbox-public"],"Subjects":["\#(subject)"]}]}"#)
  }

  /// Whose backend links sign-ins at the provider to its own users.
  init(linking profile: String) throws {
    redirectURI = Self.redirectURI
    host = try TestHost { sandbox in
      Configuration.usual(sandbox, profile: "link_backend = credd\n\(profile)") + """
        [backend credd]
        type = oidc
        issuer = \(sandbox.url)/oidc
        client_id = sandbox-public
        redirect_uri = http://127.0.0.1/
        timeout = \(Self.timeout)

        """
    }
    let name = "127.0.0.1:\(host.sandbox.port)/oidc"
    try host.sandbox.control(
      "POST", "pool",
      #"{"CognitoIdentityProviders":[{"ProviderName":"\#(name)","ClientId":"sandbox-public"}]}"#)
    try provider(#""SignedInAs":"alice""#)
  }

  /// At the Hosted UI.
  init(hostedUI backend: String) throws {
    redirectURI = "http://localhost:8976/"
    host = try TestHost { sandbox in
      Configuration.userPool(
        sandbox,
        backend: "domain = \(sandbox.url)\nredirect_uri = http://localhost:8976/\n\(backend)")
    }
    try host.sandbox.control(
      "POST", "user-pool/client",
      #"{"ClientId":"\#(UserPoolHost.client)","CallbackUrls":["http://localhost:8976/"]}"#)
    try host.sandbox.control("POST", "user-pool/hosted", #"{"SignedInAs":"alice"}"#)
  }

  func provider(_ settings: String) throws {
    try host.sandbox.control("POST", "oidc", "{\(settings)}")
  }

  var misuses: JSON? { get throws { try host.sandbox.control("GET", "oidc")["Misuses"] } }

  @discardableResult
  func ask(_ line: String) throws -> JSON { try host.ask(line) }

  /// Waits until a client of this user waits with `respond`: another one is then refused. Before, what
  /// is typed elsewhere could end the challenge without it.
  func waitForResponse(to handle: String) throws {
    try Deadline.usual.wait(for: "respond to wait") {
      try ask(#"{"op":"respond","handle":"\#(handle)","wait":0}"#).errorCode == "TooManyRequests"
    }
  }

  func logIn() throws -> JSON {
    try ask(#"{"op":"login","browser":{"redirect_uri":"\#(redirectURI)"}}"#)
  }

  /// What a browser brings back from the challenge's URL.
  ///
  /// - Parameter uri: the redirect URI, where it is another one.
  func browse(_ challenge: JSON, at uri: String? = nil) throws -> String {
    try browse(
      url: #require(challenge["Challenge"]?["Parameters"]?["Url"]?.text, "\(challenge)"), at: uri)
  }

  func browse(url: String, at uri: String? = nil) throws -> String {
    let answer = try page(url: url)
    let location = answer.components(separatedBy: "\r\n").first {
      $0.lowercased().hasPrefix("location: ")
    }
    let place = try #require(location, "\(answer)").dropFirst("location: ".count)
    try #require(place.hasPrefix(uri ?? redirectURI), "\(place)")
    return String(place.drop { $0 != "?" }.dropFirst())
  }

  /// What the provider answers to a browser: the whole head and body.
  func page(url: String) throws -> String {
    let target = try #require(
      url.range(of: host.sandbox.url).map { url[$0.upperBound...] }, "\(url)")
    let socket = try StreamSocket(port: host.sandbox.port)
    try socket.send(
      "GET \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(host.sandbox.port)\r\nConnection: close\r\n\r\n")
    return String(decoding: try socket.rest(), as: UTF8.self)
  }

  func respond(_ challenge: JSON, _ response: String) throws -> JSON {
    let handle = try #require(challenge.handle, "\(challenge)")
    return try ask(#"{"op":"respond","handle":"\#(handle)","answers":{"response":"\#(response)"}}"#)
  }

  func signIn() throws -> JSON {
    let asked = try logIn()
    return try respond(asked, try browse(asked))
  }
}
