import CredCore

/// Exchanges with Cognito Identity and STS.
struct AWSExchanges {
  let profile: Profile
  let pool: PlacedIdentityPool
  private let services: UpstreamServices

  /// Nil without an identity pool.
  init?(_ profile: Profile, _ services: UpstreamServices) {
    guard let pool = profile.identityPool else { return nil }
    self.profile = profile
    self.pool = pool
    self.services = services
  }

  func prepared(
    _ call: UpstreamCall, for user: UnixUser, _ inputs: CallInputs
  ) throws(Unprepared) -> Prepared<UpstreamOutcome> {
    let clock = services.clock
    switch call {
    case .getID(let logins):
      let request = try Upstream.cognitoIdentity.checked { () throws(InvalidInput) in
        try pool.cognito.getID(
          pool: pool.id, accountID: profile.settings.accountID, logins: logins)
      }
      return .exchange(
        Exchange(request: cognito(request, logins)) { reply throws(UpstreamFailure) in
          .identity(try CognitoIdentity.identity(from: reply))
        })
    case .getOpenIDToken(let identityID, let logins):
      let request = pool.cognito.getOpenIDToken(identity: identityID, logins: logins)
      return .exchange(
        Exchange(request: cognito(request, logins)) { reply throws(UpstreamFailure) in
          UpstreamOutcome(try CognitoIdentity.token(from: reply), clock)
        })
    case .getCredentials(let identityID, let logins, let role):
      let request = pool.cognito.getCredentials(
        identity: identityID, logins: logins, customRoleARN: role ?? profile.settings.roleARN)
      return .exchange(
        Exchange(request: cognito(request, logins)) { reply throws(UpstreamFailure) in
          UpstreamOutcome(try CognitoIdentity.credentials(from: reply), identityID, clock)
        })
    case .assumeRole(let identityID, let token):
      let request = UpstreamRequest(
        try roleRequest(token, user, inputs), Self.settings(of: profile, at: profile.stsOrigin),
        to: .sts, secrets: [token])
      return .exchange(
        Exchange(request: request) { reply throws(UpstreamFailure) in
          UpstreamOutcome(try STS.credentials(from: reply), identityID, clock)
        })
    default: preconditionFailure("the others are no calls of an identity pool")
    }
  }

  private func cognito(_ request: HTTPRequest, _ logins: LoginsMap) -> UpstreamRequest {
    UpstreamRequest(
      request, settings, to: .cognitoIdentity, secrets: logins.logins.map(\.token))
  }

  private func roleRequest(
    _ token: Secret, _ user: UnixUser, _ inputs: CallInputs
  ) throws(Unprepared) -> HTTPRequest {
    let settings = profile.settings
    guard let role = settings.roleARN else {
      preconditionFailure("the configuration reader wants role_arn for the basic flow")
    }
    let policy = try inputs.file(
      ifNamed: settings.policyFile, as: .lines, key: "policy_file", for: .sts)
    return try Upstream.sts.checked { () throws(InvalidInput) in
      try pool.sts.assumeRole(
        STS.RoleQuery(
          roleARN: role,
          sessionName: try services.expand(settings.roleSessionName, user, "role_session_name"),
          duration: Int(settings.roleDuration.inSeconds), policy: policy?.exposedText(),
          policyARNs: settings.policyARNs),
        token: token)
    }
  }

  /// How Cognito is reached.
  private var settings: HTTPSettings { Self.settings(of: profile, at: profile.cognitoOrigin) }

  static func settings(of profile: Profile, at origin: HostOrigin) -> HTTPSettings {
    var settings = HTTPSettings(
      timeout: Sender.awsTimeout, replyLimit: Limits.Upstream.awsReplyBytes)
    settings.caFile = profile.settings.caFile
    settings.hostOrigin = origin
    return settings
  }

  /// The servers that `check` asks.
  func places(_ turns: CallTurns) -> [ProbedPlace] {
    let isBasic = profile.settings.flow == .basic
    var places = [
      ProbedPlace(
        name: "cognito-identity", upstream: .cognitoIdentity, url: pool.cognito.host.url,
        settings: settings.probing,
        queue: isBasic
          ? turns.queues.queueOfOpenIDTokens(pool) : turns.queues.queueOfCredentials(pool))
    ]
    if isBasic {
      places.append(
        ProbedPlace(
          name: "sts", upstream: .sts, url: pool.sts.host.url,
          settings: Self.settings(of: profile, at: profile.stsOrigin).probing,
          queue: turns.queues.queueOfRoles(pool.sts)))
    }
    return places
  }
}
