import CredCore

/// Exchanges with Cognito Identity and STS.
struct AWSExchanges {
  let profile: Profile
  let pool: PlacedIdentityPool
  let sender: Sender

  /// Nil without an identity pool.
  init?(profile: Profile, sender: Sender) {
    guard let pool = profile.identityPool else { return nil }
    self.profile = profile
    self.pool = pool
    self.sender = sender
  }

  func getID(
    _ logins: LoginsMap
  ) throws(UpstreamFailure) -> Exchange<UpstreamOutcome> {
    let request = try Upstream.cognitoIdentity.checked { () throws(InvalidInput) in
      try pool.cognito.getID(
        pool: pool.id, accountID: profile.settings.accountID, logins: logins)
    }
    return cognito(request, logins) { reply throws(UpstreamFailure) in
      .identity(try CognitoIdentity.identity(from: reply))
    }
  }

  func getOpenIDToken(
    _ identityID: IdentityID, _ logins: LoginsMap
  ) -> Exchange<UpstreamOutcome> {
    let request = pool.cognito.getOpenIDToken(identity: identityID, logins: logins)
    return cognito(request, logins) { reply throws(UpstreamFailure) in
      UpstreamOutcome(try CognitoIdentity.token(from: reply), clock)
    }
  }

  func getCredentials(
    _ identityID: IdentityID, _ logins: LoginsMap, _ role: String?
  ) -> Exchange<UpstreamOutcome> {
    let request = pool.cognito.getCredentials(
      identity: identityID, logins: logins, customRoleARN: role ?? profile.settings.roleARN)
    return cognito(request, logins) { reply throws(UpstreamFailure) in
      UpstreamOutcome(try CognitoIdentity.credentials(from: reply), identityID, clock)
    }
  }

  private func cognito(
    _ request: HTTPRequest, _ logins: LoginsMap,
    _ read: @escaping (HTTPReply) throws(UpstreamFailure) -> UpstreamOutcome
  ) -> Exchange<UpstreamOutcome> {
    Exchange(
      request: request, settings: settings, upstream: .cognitoIdentity,
      secrets: logins.logins.map(\.token), read: read)
  }

  func assumeRole(
    _ identityID: IdentityID?, _ token: Secret, _ user: UnixUser,
    _ done: @escaping Completion<PreparedCall>
  ) {
    sender.readFileIfNamed(
      profile.settings.policyFile, as: .lines, key: "policy_file", for: .sts
    ) { policy in
      done(
        Result { () throws(UpstreamFailure) in
          let request = try roleRequest(token, try policy.get(), user)
          return .exchange(
            Exchange(
              request: request, settings: Self.settings(of: profile, at: profile.stsOrigin),
              upstream: .sts, secrets: [token]
            ) {
              reply throws(UpstreamFailure) in
              UpstreamOutcome(try STS.credentials(from: reply), identityID, clock)
            })
        })
    }
  }

  private func roleRequest(
    _ token: Secret, _ policy: Secret?, _ user: UnixUser
  ) throws(UpstreamFailure) -> HTTPRequest {
    let settings = profile.settings
    guard let role = settings.roleARN else {
      preconditionFailure("the configuration reader wants role_arn for the basic flow")
    }
    return try Upstream.sts.checked { () throws(InvalidInput) in
      try pool.sts.assumeRole(
        STS.RoleQuery(
          roleARN: role,
          sessionName: try sender.expand(settings.roleSessionName, user, "role_session_name"),
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

  private var clock: any Clock { sender.services.clock }

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
