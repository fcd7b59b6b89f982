import CredCore

/// AssumeRoleWithWebIdentity with a provider's own token, without an identity pool.
struct DirectExchanges {
  private let role: DirectRole
  private let settings: HTTPSettings
  private let sender: Sender

  /// Nil for a profile of another flow.
  init?(_ profile: Profile, _ sender: Sender) {
    guard let role = profile.directRole else { return nil }
    self.role = role
    self.sender = sender
    settings = AWSExchanges.settings(of: profile, at: profile.stsOrigin)
  }

  func assumeRole(
    _ token: Secret, _ user: UnixUser
  ) throws(UpstreamFailure) -> Exchange<UpstreamOutcome> {
    let query: STS.RoleQuery
    do {
      query = try role.query(for: token, user, host: sender.services.hostName)
    } catch {
      throw .unfitUser(error)
    }
    let request = try Upstream.sts.checked { () throws(InvalidInput) in
      try role.sts.assumeRole(query, token: token)
    }
    let clock = sender.services.clock
    return Exchange(
      request: request, settings: settings, upstream: .sts, secrets: [token]
    ) { reply throws(UpstreamFailure) in
      UpstreamOutcome(try STS.credentials(from: reply, isDirect: true), nil, clock)
    }
  }

  /// The server that `check` asks.
  func places(_ turns: CallTurns) -> [ProbedPlace] {
    [
      ProbedPlace(
        name: "sts", upstream: .sts, url: role.sts.host.url, settings: settings.probing,
        queue: turns.queues.queueOfRoles(role.sts))
    ]
  }
}

extension Sender {
  /// Reads the login of a file, anew for each call, because sidecars replace the file.
  func readTokenFile(of profile: Profile, _ done: @escaping Completion<PreparedCall>) {
    let upstream = profile.directRole == nil ? Upstream.cognitoIdentity : .sts
    guard let path = profile.settings.webIdentityTokenFile else {
      return done(.failure(.unfitSession(of: upstream)))
    }
    readFile(path, as: .line, key: "web_identity_token_file", for: upstream) {
      done($0.map { .outcome(.fileToken($0)) })
    }
  }
}
