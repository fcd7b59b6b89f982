import FoundationEssentials

/// The content of a checked developer token.
struct DeveloperToken: Sendable, Equatable {
  var identity: String
  var pool: String
  var isAuthenticated: Bool
}

extension SandboxState {
  static let cognitoIssuer = "https://cognito-identity.amazonaws.com"

  /// An OpenID token of Cognito for an identity.
  ///
  /// The claims are those of GetOpenIdToken's tokens, and `jti`, by which the sandbox revokes.
  mutating func developerToken(
    for identity: String, pool: IdentityPool, login: Login?, lifetime: Int,
    tags: [String: String] = [:], at now: Date
  ) throws(ServiceError) -> String {
    var methods: [JSON] = ["unauthenticated"]
    if let login {
      methods = [
        "authenticated", .string(login.provider),
        "\(login.provider):\(pool.id):\(login.subject)",
      ]
    }
    var claims: [String: JSON] = [
      "sub": .string(identity), "aud": .string(pool.id),
      "iss": .string(SandboxState.cognitoIssuer), "amr": .array(methods),
      "iat": .number(Double(now.epochSeconds)),
      "exp": .number(Double(now.epochSeconds + lifetime)),
      "jti": "\(revocations.nextSerial())",
    ]
    if !tags.isEmpty {
      let values = tags.mapValues { JSON.array([.string($0)]) }
      claims["https://aws.amazon.com/tags"] = ["principal_tags": .object(values)]
    }
    do {
      return try issuer.token(.object(claims))
    } catch {
      throw ServiceError(status: 500, "InternalErrorException", "the token cannot be signed")
    }
  }

  /// The reason why a token is refused; each service has its own text for it.
  enum TokenFault: Error, Equatable {
    case malformed
    case wrongIssuer
    case unverified
    case expired(now: Int, expiry: Int)
  }

  /// Checks a developer token without other data: signature, issuer, time, revocation.
  func verified(_ token: String, at now: Date) throws(TokenFault) -> DeveloperToken {
    let claims: JSON
    do {
      let claimed = try TokenIssuer.claims(in: token)
      guard claimed["iss"]?.text == SandboxState.cognitoIssuer else {
        throw TokenFault.wrongIssuer
      }
      claims = try issuer.verifiedClaims(in: token)
    } catch let fault as TokenFault {
      throw fault
    } catch TokenIssuer.Fault.malformed {
      throw .malformed
    } catch {
      throw .unverified
    }
    guard let identity = claims["sub"]?.text, let pool = claims["aud"]?.text,
      let expiry = claims["exp"]?.integer, let serial = claims["jti"]?.text.flatMap({ Int($0) })
    else { throw .malformed }
    guard now.epochSeconds < expiry else {
      throw .expired(now: now.epochSeconds, expiry: expiry)
    }
    guard !revocations.isVoid(serial: serial, of: identity) else { throw .unverified }
    let isAuthenticated = claims["amr"]?.elements?.contains("authenticated") ?? false
    return DeveloperToken(identity: identity, pool: pool, isAuthenticated: isAuthenticated)
  }
}
