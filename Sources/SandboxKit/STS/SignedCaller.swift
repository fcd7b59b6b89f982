import FoundationEssentials

/// Who signed a request.
struct SignedCaller {
  let accessKeyID: String
  /// What the credentials were given for; nil for long-lived ones.
  let grant: CredentialMint.Grant?

  /// The session of temporary credentials.
  func session() throws(ServiceError) -> RoleSession {
    guard let session = grant?.session else {
      throw ServiceError(
        status: 403, "AccessDenied", "The operation wants temporary credentials of a role.")
    }
    return session
  }

  /// The result of GetCallerIdentity.
  var identity: [XMLElement] {
    let account = grant?.session.account ?? SandboxSeed.account
    return [
      XMLElement(
        "Arn", grant?.session.arn ?? "arn:aws:iam::\(account):user/sandbox-developer"),
      XMLElement("UserId", grant?.session.userID ?? "AIDASANDBOXDEVELOPER"),
      XMLElement("Account", account),
    ]
  }

  static func expired(for service: SignatureV4.Service) -> ServiceError {
    service.fault(\.expiredKey, "The security token included in the request is expired")
  }
}

extension SandboxState {
  /// Checks the signature of a request, its session token and its age.
  func caller(
    of request: HTTPRequest, for service: SignatureV4.Service, at now: Date
  ) throws(ServiceError) -> SignedCaller {
    let signer = try SignatureV4.verify(request, for: service, at: now) { key in
      mint.secrets(of: key)?.first ?? developerKeys[key]
    }
    let token = request.header("X-Amz-Security-Token")
    guard token == mint.secrets(of: signer.accessKeyID)?.last else {
      throw service.fault(
        \.unknownKey, "The security token included in the request is invalid")
    }
    let grant = mint.grant(of: signer.accessKeyID)
    if let grant, grant.expiration <= now { throw SignedCaller.expired(for: service) }
    return SignedCaller(accessKeyID: signer.accessKeyID, grant: grant)
  }
}

/// How STS lies in an answer, so that a test sees what a client makes of it.
enum STSLie {
  /// The credentials are the caller's own.
  case sameKey
  /// The policy is not applied, and not counted.
  case unscoped
  /// The session is another's.
  case otherSession
  /// They end two hours later than they should.
  case endsLate
  /// They have ended.
  case endsPast

  init?(_ fault: Fault.Kind?) {
    switch fault {
    case .sameKey: self = .sameKey
    case .unscoped: self = .unscoped
    case .otherSession: self = .otherSession
    case .endsLate: self = .endsLate
    case .endsPast: self = .endsPast
    default: return nil
    }
  }

  /// When the credentials of an answer end.
  func expiration(_ honest: Date, at now: Date) -> Date {
    switch self {
    case .endsLate: honest.addingTimeInterval(7200)
    case .endsPast: now.addingTimeInterval(-60)
    case .sameKey, .unscoped, .otherSession: honest
    }
  }
}

extension SandboxState {
  /// Makes credentials for a session that a signed call has begun or narrowed.
  mutating func signedCredentials(
    _ session: RoleSession, for caller: SignedCaller, until expiration: Date,
    tokenLength: Int? = nil, lying lie: STSLie?, at now: Date
  ) -> TemporaryCredentials {
    let expiration = lie?.expiration(expiration, at: now) ?? expiration
    if lie == .sameKey, let secrets = mint.secrets(of: caller.accessKeyID) {
      return TemporaryCredentials(
        accessKeyID: caller.accessKeyID, secretAccessKey: secrets[0], sessionToken: secrets[1],
        expiration: expiration)
    }
    let grant = CredentialMint.Grant(
      pool: caller.grant?.pool ?? "", identity: caller.grant?.identity ?? "",
      logins: caller.grant?.logins ?? [], session: session, isOfSTS: true,
      source: caller.accessKeyID, expiration: expiration)
    return mint.credentials(for: grant, tokenLength: tokenLength, random: &random)
  }
}
