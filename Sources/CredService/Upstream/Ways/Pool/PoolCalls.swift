import CredCore

/// Calls of Cognito Identity, and in the basic flow of STS, for an identity of a pool.
struct PoolCalls: WayCalls {
  private let profile: Profile
  private let pool: PlacedIdentityPool
  private let services: UpstreamServices

  init(_ profile: Profile, _ pool: PlacedIdentityPool, _ services: UpstreamServices) {
    self.profile = profile
    self.pool = pool
    self.services = services
  }

  var upstream: Upstream { .cognitoIdentity }

  func queue(of call: UpstreamCall, in queues: inout CallQueues) -> CallQueue? {
    switch call {
    case .getID: queues.queue("GetId", pool.cognito.host, queues.settings.getIDRate)
    case .getOpenIDToken:
      queues.queue("GetOpenIdToken", pool.cognito.host, queues.settings.getOpenIDTokenRate)
    case .getCredentials:
      queues.queue(
        "GetCredentialsForIdentity", pool.cognito.host, queues.settings.getCredentialsRate)
    case .assumeRole: queues.queueOfRoles(pool.sts)
    default: nil
    }
  }

  func prepared(
    _ call: UpstreamCall, for user: UnixUser, _ inputs: CallInputs
  ) throws(Unprepared) -> Prepared<UpstreamOutcome> {
    let clock = services.clock
    switch call {
    case .readTokenFile: return try tokenOfFile(profile.settings, inputs)
    case .getID(let logins):
      let request = try upstream.checked { () throws(InvalidInput) in
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
        try roleRequest(token, user, inputs), stsSettings, to: .sts, secrets: [token])
      return .exchange(
        Exchange(request: request) { reply throws(UpstreamFailure) in
          UpstreamOutcome(try STS.credentials(from: reply), identityID, clock)
        })
    default: throw .failed(.unfitSession(of: upstream))
    }
  }

  private func cognito(_ request: HTTPRequest, _ logins: LoginsMap) -> UpstreamRequest {
    UpstreamRequest(
      request, cognitoSettings, to: upstream, secrets: logins.logins.map(\.token))
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

  private var cognitoSettings: HTTPSettings {
    .aws(at: profile.cognitoOrigin, caFile: profile.settings.caFile)
  }

  private var stsSettings: HTTPSettings {
    .aws(at: profile.stsOrigin, caFile: profile.settings.caFile)
  }

  /// The servers that the profile's flow needs.
  func places(_ queues: inout CallQueues) -> [ProbedPlace] {
    let isBasic = profile.settings.flow == .basic
    let queue =
      isBasic
      ? queues.queue("GetOpenIdToken", pool.cognito.host, queues.settings.getOpenIDTokenRate)
      : queues.queue(
        "GetCredentialsForIdentity", pool.cognito.host, queues.settings.getCredentialsRate)
    let cognito = ProbedPlace(
      name: "cognito-identity", upstream: upstream, url: pool.cognito.host.url,
      settings: cognitoSettings.probing, queue: queue)
    return isBasic
      ? [cognito, .sts(pool.sts, stsSettings, queues.queueOfRoles(pool.sts))] : [cognito]
  }
}
