/// One request of a sign-in at a user pool, as a value. The app client's secret is added when the
/// request is sent.
public enum PoolRequest: Sendable, Equatable {
  /// InitiateAuth.
  case initiate(
    PoolSignInStart, username: String, device: String?, metadata: ClientMetadata)
  /// RespondToAuthChallenge.
  case respond(
    PoolAnswer, username: String, session: Secret?, device: String?, metadata: ClientMetadata)
  /// AssociateSoftwareToken.
  case associateSoftwareToken(session: Secret)
  /// VerifySoftwareToken, with the name that the user gives the app.
  case verifySoftwareToken(session: Secret, code: Secret, name: String?)
  /// ConfirmDevice.
  case confirmDevice(accessToken: Secret, key: String, DeviceVerifier)
  /// UpdateDeviceStatus.
  case rememberDevice(accessToken: Secret, key: String, isRemembered: Bool)

  /// Whether the request asks the pool to send a message.
  public var asksForMessage: Bool {
    guard case .respond(let answer, _, _, _, _) = self else { return false }
    return switch answer {
    case .mfaEmail, .choice(.code): true
    case .mfaType(let name): name != MFAFactor.app.rawValue
    default: false
    }
  }

  /// Whether the request answers a question of the pool's own trigger, which may send a message
  /// with its next question.
  public var answersTrigger: Bool {
    if case .respond(.custom, _, _, _, _) = self { true } else { false }
  }

  /// Whether the pool may send a message because of the request, even without being asked.
  public var maySendMessage: Bool {
    switch self {
    // The pool answers with its part of the proof, and sends no message.
    case .initiate(.srp, _, _, _), .initiate(.customAfterSRP, _, _, _): false
    case .initiate, .respond: true
    case .associateSoftwareToken, .verifySoftwareToken, .confirmDevice, .rememberDevice: false
    }
  }

  /// Secrets that messages must not repeat.
  public var secrets: [Secret] {
    switch self {
    case .initiate(let start, _, _, let metadata): start.secrets + metadata.secrets
    case .respond(let answer, _, let session, _, let metadata):
      answer.secrets + metadata.secrets + (session.map { [$0] } ?? [])
    case .associateSoftwareToken(let session): [session]
    case .verifySoftwareToken(let session, let code, _): [session, code]
    case .confirmDevice(let token, _, let verifier):
      [token, verifier.salt, verifier.passwordVerifier]
    case .rememberDevice(let token, _, _): [token]
    }
  }
}

/// The reply to a ``PoolRequest``.
public enum PoolReply: Sendable, Equatable {
  case signIn(PoolSignInReply)
  case softwareToken(SoftwareToken)
  /// The authenticator app is set up; with the Session for the next request.
  case softwareTokenVerified(session: Secret?)
  /// - Parameter needsConsent: whether the user must agree that the pool remembers the device.
  case deviceConfirmed(needsConsent: Bool)
  case deviceRemembered
}

extension UserPoolClient {
  /// - Parameter deviceName: this host's name, for the user's list of devices.
  /// - Throws: if Cognito would refuse a part of it.
  public func request(
    _ request: PoolRequest, deviceName: String, digests: some Digests
  ) throws(InvalidInput) -> HTTPRequest {
    switch request {
    case .initiate(let start, let username, let device, let metadata):
      try initiateAuth(
        start, as: self.username(username, digests: digests), device: device, metadata: metadata)
    case .respond(let answer, let username, let session, let device, let metadata):
      try respond(
        answer, as: self.username(username, digests: digests), session: session, device: device,
        metadata: metadata)
    case .associateSoftwareToken(let session):
      associateSoftwareToken(of: .signIn(session: session))
    case .verifySoftwareToken(let session, let code, let name):
      try verifySoftwareToken(of: .signIn(session: session), code: code, name: name)
    case .confirmDevice(let token, let key, let verifier):
      try confirmDevice(accessToken: token, key: key, verifier, name: deviceName)
    case .rememberDevice(let token, let key, let isRemembered):
      try updateDevice(accessToken: token, key: key, isRemembered: isRemembered)
    }
  }

  /// Reads the reply to a request.
  public func reply(
    _ reply: HTTPReply, to request: PoolRequest
  ) throws(UpstreamFailure) -> PoolReply {
    switch request {
    case .initiate, .respond: return .signIn(try signInReply(from: reply, to: .signIn))
    case .associateSoftwareToken(let session):
      return .softwareToken(try softwareToken(from: reply, of: .signIn(session: session)))
    case .verifySoftwareToken(let session, _, _):
      return .softwareTokenVerified(
        session: try softwareTokenVerified(from: reply, of: .signIn(session: session)))
    case .confirmDevice: return .deviceConfirmed(needsConsent: try deviceConfirmed(from: reply))
    case .rememberDevice:
      try accountChanged(reply)
      return .deviceRemembered
    }
  }
}

/// A computation with large numbers, which must run on a thread.
public enum PoolProof: Sendable, Equatable {
  case keyPair(SRPPrivateValue)
  /// - Parameter time: the server's time.
  case claim(SRPKeyPair, SRPIdentity, SRPChallenge, at: WallTime)
  case deviceVerifier(DeviceSecret, DeviceSalt)

  public enum Result: Sendable, Equatable {
    case keyPair(SRPKeyPair)
    case claim(SRPClaim)
    case deviceVerifier(DeviceVerifier)
    /// With the server's value, the secret would not depend on the password.
    case refused(SRPError)
  }

  /// Takes some milliseconds.
  public func computed(by crypto: some SRPCrypto) -> Result {
    switch self {
    case .keyPair(let value): return .keyPair(SRPKeyPair(value, arithmetic: crypto))
    case .claim(let pair, let identity, let challenge, let time):
      do throws(SRPError) {
        return .claim(try pair.claim(identity, challenge, at: time, crypto: crypto))
      } catch {
        return .refused(error)
      }
    case .deviceVerifier(let device, let salt):
      return .deviceVerifier(device.verifier(salt: salt, crypto: crypto))
    }
  }
}
