import CredCore

/// AssumeRoleWithWebIdentity with a provider's own token, without an identity pool.
struct DirectExchanges {
  private let role: DirectRole
  private let settings: HTTPSettings
  private let services: UpstreamServices

  /// Nil for a profile of another flow.
  init?(_ profile: Profile, _ services: UpstreamServices) {
    guard let role = profile.directRole else { return nil }
    self.role = role
    self.services = services
    settings = AWSExchanges.settings(of: profile, at: profile.stsOrigin)
  }

  func assumeRole(
    _ token: Secret, for user: UnixUser
  ) throws(Unprepared) -> Prepared<UpstreamOutcome> {
    let query: STS.RoleQuery
    do {
      query = try role.query(for: token, user, host: services.hostName)
    } catch {
      throw .failed(.unfitUser(error))
    }
    let request = try Upstream.sts.checked { () throws(InvalidInput) in
      try role.sts.assumeRole(query, token: token)
    }
    let clock = services.clock
    return .exchange(
      Exchange(request: UpstreamRequest(request, settings, to: .sts, secrets: [token])) {
        reply throws(UpstreamFailure) in
        UpstreamOutcome(try STS.credentials(from: reply, isDirect: true), nil, clock)
      })
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

extension Profile {
  /// The login of its file, read anew for each call, because sidecars replace the file.
  func tokenOfFile(_ inputs: CallInputs) throws(Unprepared) -> Prepared<UpstreamOutcome> {
    let upstream = directRole == nil ? Upstream.cognitoIdentity : .sts
    guard let path = settings.webIdentityTokenFile else {
      throw .failed(.unfitSession(of: upstream))
    }
    return .outcome(
      .fileToken(
        try inputs.file(path, as: .line, key: "web_identity_token_file", for: upstream)))
  }
}
