/// The URLs of a provider that an operator sets. They replace URLs of the discovery document.
public struct ProviderEndpoints: Sendable, Equatable {
  public var authorization: HTTPURL?
  public var token: HTTPURL?
  public var deviceAuthorization: HTTPURL?
  public var revocation: HTTPURL?
  public var endSession: HTTPURL?

  public init() {}

  /// Whether a sign-in by browser needs no discovery.
  public var suffice: Bool { authorization != nil && token != nil }
}

/// The facts that credd knows about a provider, from its discovery document (OpenID Connect
/// Discovery 1.0, 3; RFC 8414, RFC 8628, RFC 9207), and from the configuration.
///
/// credd does not read the document's lists of abilities: providers announce less than they can do.
public struct ProviderMetadata: Sendable, Equatable {
  public let issuer: OIDCIssuer
  /// Nil if the configuration has no such URL and the provider was not asked.
  public let authorization: HTTPURL?
  public let token: HTTPURL
  public let deviceAuthorization: HTTPURL?
  public let revocation: HTTPURL?
  public let endSession: HTTPURL?
  /// Whether each response of the browser names its issuer.
  public let sendsIssuer: Bool

  public init?(_ issuer: OIDCIssuer, configured endpoints: ProviderEndpoints) {
    guard endpoints.suffice, let token = endpoints.token else { return nil }
    self.issuer = issuer
    self.token = token
    authorization = endpoints.authorization
    deviceAuthorization = endpoints.deviceAuthorization
    revocation = endpoints.revocation
    endSession = endpoints.endSession
    sendsIssuer = false
  }

  /// Reads a discovery document.
  ///
  /// - Parameter endpoints: URLs of the operator, which replace URLs of the document.
  /// - Throws: if the document belongs to another issuer, or lacks a URL that is needed.
  init(
    _ document: JSONValue, of issuer: OIDCIssuer, configured endpoints: ProviderEndpoints
  ) throws(InvalidInput) {
    let named = try document.requiredText("issuer")
    guard issuer.isEqual(to: named) else {
      throw InvalidInput(
        field: "issuer",
        reason: "is \(named.quoted) in the provider's discovery document and "
          + "\(issuer.description.quoted) in credd's configuration: set it as the provider has it, "
          + "its last slash included")
    }
    self.issuer = issuer
    let read = { (name: String, configured: HTTPURL?) throws(InvalidInput) -> HTTPURL? in
      if let configured { return configured }
      return try Self.url(document[name], name, of: issuer)
    }
    authorization = try Self.needed(
      read("authorization_endpoint", endpoints.authorization), "authorization_endpoint")
    token = try Self.needed(read("token_endpoint", endpoints.token), "token_endpoint")
    deviceAuthorization = try read(
      "device_authorization_endpoint", endpoints.deviceAuthorization)
    revocation = try read("revocation_endpoint", endpoints.revocation)
    endSession = try read("end_session_endpoint", endpoints.endSession)
    // If the operator has set the endpoint, another server may answer than the server that
    // announced this.
    sendsIssuer =
      endpoints.authorization == nil
      && document["authorization_response_iss_parameter_supported"]?.bool ?? false
  }

  private static func needed(_ url: HTTPURL?, _ name: String) throws(InvalidInput) -> HTTPURL {
    guard let url else {
      throw InvalidInput(
        field: name,
        reason: "is missing in the provider's discovery document: set it in the backend's section, "
          + "or give the user pool a domain")
    }
    return url
  }

  private static func url(
    _ value: JSONValue?, _ name: String, of issuer: OIDCIssuer
  ) throws(InvalidInput) -> HTTPURL? {
    guard let value, value != .null else { return nil }
    guard let text = value.text else { throw InvalidInput(field: name, reason: "is no text") }
    return try ProviderURL.checked(text, name, mayBeLoopback: issuer.mayReachThisHost)
  }

  /// Reads the reply to a request for the discovery document.
  public init(
    from reply: HTTPReply, of issuer: OIDCIssuer, configured endpoints: ProviderEndpoints,
    for backend: String
  ) throws(UpstreamFailure) {
    let upstream = Upstream.backend(backend)
    guard reply.status == 200, !reply.looksLikeHTML else {
      throw .provider(reply, from: upstream, .discovery)
    }
    let document = try JSONReply.object(
      reply.body, limit: Limits.OIDC.replyBytes, from: upstream)
    do throws(InvalidInput) {
      self = try ProviderMetadata(document, of: issuer, configured: endpoints)
    } catch {
      throw UpstreamFailure(
        upstream, FailureTable.unusableProvider, said: error.description)
    }
  }

  /// How long a discovery document is used: as long as its server says, but an hour at least and a
  /// day at most. While the provider cannot be reached, credd goes on with the last document.
  public static func lifetime(of reply: HTTPReply) -> Duration {
    let directives = reply.header("Cache-Control")?.split(separator: ",") ?? []
    for directive in directives {
      let name = directive.utf8.trimmed
      guard name.starts(with: "max-age=".utf8),
        let seconds = Int64(String(decoding: name.dropFirst(8), as: UTF8.self))
      else { continue }
      return min(max(.seconds(seconds), .seconds(3600)), .seconds(86_400))
    }
    return .seconds(3600)
  }
}

/// A URL that came from a provider: credd calls it, or shows it to a user.
enum ProviderURL {
  /// - Throws: if the URL is too long, is not printable ASCII, or would send secrets in clear.
  static func checked(
    _ text: String, _ name: String, mayBeLoopback: Bool
  ) throws(InvalidInput) -> HTTPURL {
    guard text.utf8.count <= Limits.OIDC.urlBytes else {
      throw InvalidInput(field: name, reason: "is longer than \(Limits.OIDC.urlBytes) bytes")
    }
    let url: HTTPURL
    do throws(InvalidValue) {
      url = try HTTPURL(text)
    } catch {
      throw InvalidInput(field: name, reason: "is no URL: \(error.message)")
    }
    // A provider elsewhere must not send requests to services of this host.
    guard mayBeLoopback || !url.mayReachThisHost else {
      throw InvalidInput(field: name, reason: "is an address of this host, and the issuer is not")
    }
    guard url.isEncrypted || url.isLoopback else {
      throw InvalidInput(field: name, reason: "is no https:// URL")
    }
    return url
  }
}

extension OIDCIssuer {
  /// The request for the discovery document. The HTTP layer follows no redirect.
  public var discoveryRequest: HTTPRequest {
    HTTPRequest(
      method: .get, url: discoveryURL, headers: [HTTPHeader("Accept", "application/json")])
  }
}
