/// A sign-in by a code that the user types into a browser on another device (RFC 8628).
public struct DeviceGrant: Sendable, Equatable {
  /// The code with which credd asks the provider. Nobody else gets it.
  public let deviceCode: Secret
  /// The code that the user types or compares.
  public let userCode: String
  public let url: String
  /// The URL with the code in it; the user still compares the code.
  public let completeURL: String?
  public let lifetime: Duration
  /// The pause between two questions to the provider.
  public let interval: Duration

  init(_ object: JSONValue, of issuer: OIDCIssuer) throws(InvalidInput) {
    let code = try object.requiredSecret("device_code")
    guard code.count <= Limits.Upstream.tokenLength,
      code.bytes.allSatisfy({ (0x20...0x7E).contains($0) })
    else { throw InvalidInput(field: "device_code", reason: "is too long or not printable") }
    deviceCode = code
    userCode = try Self.userCode(object)
    // Google's name for the member is older than the RFC.
    let name = object["verification_uri"] == nil ? "verification_url" : "verification_uri"
    url = try ProviderURL.checked(
      object.requiredText(name), name, mayBeLoopback: issuer.mayReachThisHost
    ).text
    completeURL = try Self.completeURL(object, of: issuer)
    lifetime = min(try Self.lifetime(object["expires_in"]), Limits.OIDC.deviceTime)
    // RFC 8628, 3.2: 5 seconds unless it says another number.
    let pause = object["interval"]?.writtenSeconds.flatMap { $0 > 0 ? $0 : nil } ?? 5
    interval = .seconds(
      min(max(pause, Limits.OIDC.pollSeconds.lowerBound), Limits.OIDC.pollSeconds.upperBound))
  }

  /// RFC 8628, 3.2, requires it. A provider that leaves it out has a code that ends all the same.
  private static func lifetime(_ value: JSONValue?) throws(InvalidInput) -> Duration {
    guard let value, value != .null else { return Limits.OIDC.unsaidDeviceTime }
    guard let seconds = value.writtenSeconds, (1...86_400).contains(seconds) else {
      throw InvalidInput(field: "expires_in", reason: "is no number of seconds")
    }
    return .seconds(seconds)
  }

  private static func userCode(_ object: JSONValue) throws(InvalidInput) -> String {
    let code = try object.requiredText("user_code")
    guard (1...Limits.OIDC.userCodeLength).contains(code.unicodeScalars.count),
      code.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
    else { throw InvalidInput(field: "user_code", reason: "is too long or not printable ASCII") }
    return code
  }

  private static func completeURL(
    _ object: JSONValue, of issuer: OIDCIssuer
  ) throws(InvalidInput) -> String? {
    let name = "verification_uri_complete"
    guard let value = object[name], value != .null else { return nil }
    guard let text = value.text else { throw InvalidInput(field: name, reason: "is no text") }
    return try ProviderURL.checked(text, name, mayBeLoopback: issuer.mayReachThisHost).text
  }
}

/// When the next question about a device code is due. After `slow_down` the interval stays longer,
/// because a provider that is asked too often keeps refusing.
public struct DevicePolling: Sendable, Equatable {
  /// RFC 8628, 3.5.
  static let slowDown = Duration.seconds(5)

  public private(set) var interval: Duration
  /// The first question comes after one interval, because nobody types a code faster.
  public private(set) var next: Instant
  /// When the code ends.
  public let deadline: Instant

  public init(_ grant: DeviceGrant, now: Instant) {
    interval = grant.interval
    next = now + grant.interval
    deadline = now + grant.lifetime
  }

  public mutating func received(_ answer: DeviceAnswer, now: Instant) {
    if case .slowDown(let retryAfter) = answer {
      interval = min(interval + Self.slowDown, .seconds(Limits.OIDC.pollSeconds.upperBound))
      next = now + max(interval, retryAfter ?? .zero)
    } else {
      next = now + interval
    }
  }
}

/// A provider's answer about a device code.
public enum DeviceAnswer: Sendable, Equatable {
  case pending
  /// The provider is asked too often, or has trouble.
  case slowDown(retryAfter: Duration?)
  case tokens(OIDCTokenReply)
  /// Only a new code helps.
  case ended(UpstreamFailure)
}

extension OIDCClient {
  /// Asks for a device code; nil if the provider gives none.
  public func startDeviceGrant(scopes: [String]) -> HTTPRequest? {
    provider.deviceAuthorization.map { url in
      request(url) {
        if !scopes.isEmpty { $0.append("scope", scopes.joined(separator: " ")) }
        // Some providers require the id beside the client's authentication (RFC 8628, 3.1).
        if case .basic = authentication { $0.append("client_id", id) }
      }
    }
  }

  /// Reads the reply to ``startDeviceGrant(scopes:)``.
  public func deviceGrant(from reply: HTTPReply) throws(UpstreamFailure) -> DeviceGrant {
    guard reply.status == 200, !reply.looksLikeHTML else {
      throw .provider(reply, from: upstream, .deviceStart)
    }
    let object = try JSONReply.object(reply.body, limit: Limits.OIDC.replyBytes, from: upstream)
    return try checked(upstream) { () throws(InvalidInput) in
      try DeviceGrant(object, of: provider.issuer)
    }
  }

  /// Asks whether the user has typed the code.
  public func poll(_ grant: DeviceGrant) -> HTTPRequest {
    request(provider.token) {
      $0.append("grant_type", "urn:ietf:params:oauth:grant-type:device_code")
      $0.append("device_code", grant.deviceCode)
    }
  }

  /// Reads the reply to ``poll(_:)``. Its error counts, not its status.
  public func deviceAnswer(from reply: HTTPReply, wallTime: WallTime) -> DeviceAnswer {
    let error = OAuthError(reply)
    switch error?.name {
    case "authorization_pending": return .pending
    case "slow_down", "temporarily_unavailable", "server_error":
      return .slowDown(retryAfter: reply.retryAfter)
    case nil where reply.status == 408 || reply.status == 429 || reply.status >= 500:
      return .slowDown(retryAfter: reply.retryAfter)
    case .some where reply.status >= 500: return .slowDown(retryAfter: reply.retryAfter)
    default: break
    }
    do throws(UpstreamFailure) {
      return .tokens(
        tokens(in: try grant(from: reply, to: .deviceCode), reply, .notSent, wallTime))
    } catch {
      return .ended(error)
    }
  }

  /// The answer if no reply came.
  public static func deviceAnswer(to failure: UpstreamFailure) -> DeviceAnswer {
    failure.failureClass.isTransient
      ? .slowDown(retryAfter: failure.failureClass.retryAfter) : .ended(failure)
  }
}
