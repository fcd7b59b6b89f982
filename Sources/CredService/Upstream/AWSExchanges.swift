import CredCore

/// Cognito Identity and STS.
extension UpstreamClient {
  func getID(
    _ logins: LoginsMap, _ profile: Profile
  ) throws(UpstreamFailure) -> Exchange<UpstreamOutcome> {
    let request = try Self.checked(.cognitoIdentity) { () throws(InvalidInput) in
      try profile.cognito.getID(
        pool: profile.pool, accountID: profile.settings.accountID, logins: logins)
    }
    return cognito(request, profile, logins) { reply throws(UpstreamFailure) in
      .identity(try CognitoIdentity.identity(from: reply))
    }
  }

  func getOpenIDToken(
    _ identityID: IdentityID, _ logins: LoginsMap, _ profile: Profile
  ) -> Exchange<UpstreamOutcome> {
    let request = profile.cognito.getOpenIDToken(identity: identityID, logins: logins)
    return cognito(request, profile, logins) { [unowned self] reply throws(UpstreamFailure) in
      outcome(try CognitoIdentity.token(from: reply))
    }
  }

  func getCredentials(
    _ identityID: IdentityID, _ logins: LoginsMap, _ role: String?, _ profile: Profile
  ) -> Exchange<UpstreamOutcome> {
    let request = profile.cognito.getCredentials(
      identity: identityID, logins: logins, customRoleARN: role ?? profile.settings.roleARN)
    return cognito(request, profile, logins) { [unowned self] reply throws(UpstreamFailure) in
      outcome(try CognitoIdentity.credentials(from: reply), identityID)
    }
  }

  private func cognito(
    _ request: HTTPRequest, _ profile: Profile, _ logins: LoginsMap,
    _ read: @escaping (HTTPReply) throws(UpstreamFailure) -> UpstreamOutcome
  ) -> Exchange<UpstreamOutcome> {
    Exchange(
      request: request, settings: awsSettings(profile), upstream: .cognitoIdentity,
      secrets: logins.logins.map(\.token), read: read)
  }

  func assumeRole(
    _ identityID: IdentityID, _ token: Secret, _ profile: Profile, _ user: UnixUser,
    _ done: @escaping Completion<PreparedCall>
  ) {
    readFileIfNamed(profile.settings.policyFile, key: "policy_file", for: .sts) {
      [unowned self] policy in
      done(
        Result { () throws(UpstreamFailure) in
          let request = try roleRequest(token, try policy.get(), profile, user)
          return .exchange(
            Exchange(
              request: request, settings: awsSettings(profile), upstream: .sts, secrets: [token]
            ) {
              [unowned self] reply throws(UpstreamFailure) in
              outcome(try STS.credentials(from: reply), identityID)
            })
        })
    }
  }

  private func roleRequest(
    _ token: Secret, _ policy: Secret?, _ profile: Profile, _ user: UnixUser
  ) throws(UpstreamFailure) -> HTTPRequest {
    let settings = profile.settings
    guard let role = settings.roleARN else {
      preconditionFailure("the configuration reader wants role_arn for the basic flow")
    }
    return try Self.checked(.sts) { () throws(InvalidInput) in
      try profile.sts.assumeRole(
        STS.RoleQuery(
          roleARN: role,
          sessionName: try expand(settings.roleSessionName, user, "role_session_name"),
          duration: Int(settings.duration.inSeconds), policy: policy?.exposedText(),
          policyARNs: settings.policyARNs),
        token: token)
    }
  }

  /// The login of a file, read for each call, because sidecars replace the file.
  func readTokenFile(of profile: Profile, _ done: @escaping Completion<PreparedCall>) {
    guard let path = profile.settings.webIdentityTokenFile else {
      return done(.failure(.unfitSession(of: .cognitoIdentity)))
    }
    let key = "web_identity_token_file"
    readFile(path, key: key, for: .cognitoIdentity) { content in
      done(
        Result { () throws(UpstreamFailure) in
          let token = Secret(Array(try content.get().bytes.trimmed))
          guard !token.isEmpty else {
            throw .notSent(
              InvalidInput(field: key, reason: "\(path) is empty"), to: .cognitoIdentity)
          }
          return .outcome(.fileToken(token))
        })
    }
  }

  func awsSettings(_ profile: Profile) -> HTTPSettings {
    var settings = HTTPSettings(timeout: Self.awsTimeout, replyLimit: Limits.Upstream.awsReplyBytes)
    settings.caFile = profile.settings.caFile
    return settings
  }
}
