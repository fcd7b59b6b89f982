/// The user whose authenticator app is set up. The user is signed in, or must set up an app to sign
/// in.
public enum SoftwareTokenOwner: Sendable, Equatable {
  case user(accessToken: Secret)
  /// The Session of the challenge MFA_SETUP.
  case signIn(session: Secret)

  fileprivate var member: (name: String, value: Secret) {
    switch self {
    case .user(let token): ("AccessToken", token)
    case .signIn(let session): ("Session", session)
    }
  }

  fileprivate var purpose: UserPoolPurpose {
    switch self {
    case .user: .ownAccount
    case .signIn: .signIn
    }
  }
}

extension UserPoolClient {
  /// AssociateSoftwareToken: asks for a new secret for the app. The former secret becomes void.
  public func associateSoftwareToken(of owner: SoftwareTokenOwner) -> HTTPRequest {
    request(.associateSoftwareToken) { $0.field(owner.member.name, owner.member.value) }
  }

  /// Reads the reply to AssociateSoftwareToken.
  public func softwareToken(
    from reply: HTTPReply, of owner: SoftwareTokenOwner
  ) throws(UpstreamFailure) -> SoftwareToken {
    let object = try success(reply, owner.purpose)
    return try checked(upstream) { () throws(InvalidInput) in try SoftwareToken(object) }
  }

  /// VerifySoftwareToken.
  ///
  /// - Parameter name: a name of the app, for the user.
  public func verifySoftwareToken(
    of owner: SoftwareTokenOwner, code: Secret, name: String? = nil
  ) throws(InvalidInput) -> HTTPRequest {
    let code = try UserPoolInput.code(code)
    if let name {
      _ = try UserPoolInput.text(Secret(name), "name", 1...Limits.UserPool.deviceNameLength)
    }
    return request(.verifySoftwareToken) {
      $0.field(owner.member.name, owner.member.value)
      $0.field("UserCode", code)
      $0.field("FriendlyDeviceName", name)
    }
  }

  /// Reads the reply to VerifySoftwareToken: the Session for the next request; nil for a signed-in
  /// user.
  public func softwareTokenVerified(
    from reply: HTTPReply, of owner: SoftwareTokenOwner
  ) throws(UpstreamFailure) -> Secret? {
    let object = try success(reply, owner.purpose)
    let status = object["Status"]?.text
    if status == "ERROR" { throw .wrongSoftwareTokenCode(from: upstream, owner.purpose) }
    return try checked(upstream) { () throws(InvalidInput) in
      guard status == "SUCCESS" else {
        throw InvalidInput(field: "Status", reason: "is neither SUCCESS nor ERROR")
      }
      return try PoolChallenge.session(in: object)
    }
  }
}

/// The secret of an authenticator app (RFC 6238).
public struct SoftwareToken: Sendable, Equatable {
  /// In base32.
  public let secret: Secret
  /// The Session, which goes back with the code; nil for a signed-in user.
  public let session: Secret?

  init(_ object: JSONValue) throws(InvalidInput) {
    secret = try object.requiredSecret("SecretCode")
    guard Limits.UserPool.appSecretLength.contains(secret.count),
      secret.bytes.allSatisfy({ $0.isLetterOrDigit || $0 == UInt8(ascii: "=") })
    else { throw InvalidInput(field: "SecretCode", reason: "is no secret in base32") }
    session = try PoolChallenge.session(in: object)
  }

  /// `otpauth://totp/…`, as authenticator apps read it from a QR code.
  ///
  /// - Parameters:
  ///   - issuer: the name that the app shows; without a colon.
  ///   - username: the account that the app shows.
  public func uri(issuer: String, username: String) -> Secret {
    let issuer = PercentEncoding.encode(issuer)
    var text = Array("otpauth://totp/\(issuer):\(PercentEncoding.encode(username))?secret=".utf8)
    text += secret.bytes.filter { $0 != UInt8(ascii: "=") }
    text += Array("&issuer=\(issuer)".utf8)
    return Secret(text)
  }
}
