internal import CredCore

/// Cognito Identity and STS.
extension UpstreamClient {
  func identity(
    _ logins: LoginsMap, _ profile: Profile
  ) async throws(UpstreamFailure) -> IdentityID {
    let request = try Self.usable(.cognitoIdentity) { () throws(InvalidInput) in
      try profile.cognito.getID(
        pool: profile.pool, accountID: profile.settings.accountID, logins: logins)
    }
    return try CognitoIdentity.identity(
      from: await send(request, awsSettings(profile), to: .cognitoIdentity))
  }

  func openIDToken(
    _ identityID: IdentityID, _ logins: LoginsMap, _ profile: Profile
  ) async throws(UpstreamFailure) -> TokenReply {
    let request = profile.cognito.getOpenIDToken(identity: identityID, logins: logins)
    return try CognitoIdentity.token(
      from: await send(request, awsSettings(profile), to: .cognitoIdentity))
  }

  func credentials(
    _ identityID: IdentityID, _ logins: LoginsMap, _ role: String?, _ profile: Profile
  ) async throws(UpstreamFailure) -> CredentialsReply {
    let request = profile.cognito.getCredentials(
      identity: identityID, logins: logins, customRoleARN: role ?? profile.settings.roleARN)
    return try CognitoIdentity.credentials(
      from: await send(request, awsSettings(profile), to: .cognitoIdentity))
  }

  func assumeRole(
    _ token: Secret, _ profile: Profile, _ user: User
  ) async throws(UpstreamFailure) -> CredentialsReply {
    let settings = profile.settings
    guard let role = settings.roleARN else {
      preconditionFailure("the configuration reader wants role_arn for the basic flow")
    }
    let request = try Self.usable(.sts) { () throws(InvalidInput) in
      let policy = try settings.policyFile.map { path throws(InvalidInput) in
        try SecretFile.read(path, as: "policy_file")
      }
      return try profile.sts.assumeRole(
        STS.RoleQuery(
          roleARN: role,
          sessionName: try expand(settings.roleSessionName, user, "role_session_name"),
          duration: Int(settings.duration.inSeconds), policy: policy?.exposedText(),
          policyARNs: settings.policyARNs),
        token: token)
    }
    return try STS.credentials(from: await send(request, awsSettings(profile), to: .sts))
  }

  /// The login that a file holds, read anew each time, as sidecars replace it.
  func tokenFile(of profile: Profile) throws(UpstreamFailure) -> Secret {
    guard let path = profile.settings.webIdentityTokenFile else {
      preconditionFailure("the plan of a profile without a token file reads none")
    }
    return try Self.usable(.cognitoIdentity) { () throws(InvalidInput) in
      let token = try SecretFile.read(path, as: "web_identity_token_file").trimmed
      guard !token.isEmpty else {
        throw InvalidInput(field: "web_identity_token_file", reason: "\(path) is empty")
      }
      return token
    }
  }

  func awsSettings(_ profile: Profile) -> HTTPSettings {
    var settings = HTTPSettings(timeout: Self.awsTimeout, replyLimit: Limits.cognitoReplyBytes)
    settings.caFile = profile.settings.caFile
    return settings
  }
}

extension Secret {
  /// Without the white space that editors and `echo` put around it.
  fileprivate var trimmed: Secret {
    let isSpace: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0D).contains($0) }
    guard let first = bytes.firstIndex(where: { !isSpace($0) }),
      let last = bytes.lastIndex(where: { !isSpace($0) })
    else { return Secret([]) }
    return Secret(Array(bytes[first...last]))
  }
}
