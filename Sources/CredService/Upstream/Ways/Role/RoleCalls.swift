import CredCore

/// AssumeRoleWithWebIdentity with a provider's own token, without an identity pool.
struct RoleCalls: WayCalls {
  private let profile: Profile
  private let role: DirectRole
  private let services: UpstreamServices

  init(_ profile: Profile, _ role: DirectRole, _ services: UpstreamServices) {
    self.profile = profile
    self.role = role
    self.services = services
  }

  var upstream: Upstream { .sts }

  func queue(of call: UpstreamCall, in queues: inout CallQueues) -> CallQueue? {
    if case .assumeRole = call { queues.queueOfRoles(role.sts) } else { nil }
  }

  func prepared(
    _ call: UpstreamCall, for user: UnixUser, _ inputs: CallInputs
  ) throws(Unprepared) -> Prepared<UpstreamOutcome> {
    switch call {
    case .readTokenFile: return try tokenOfFile(profile.settings, inputs)
    case .assumeRole(_, let token): return try assumeRole(token, for: user)
    default: throw .failed(.unfitSession(of: upstream))
    }
  }

  private func assumeRole(
    _ token: Secret, for user: UnixUser
  ) throws(Unprepared) -> Prepared<UpstreamOutcome> {
    let query: STS.RoleQuery
    do {
      query = try role.query(for: token, user, host: services.hostName)
    } catch {
      throw .failed(.unfitUser(error))
    }
    let request = try upstream.checked { () throws(InvalidInput) in
      try role.sts.assumeRole(query, token: token)
    }
    let clock = services.clock
    return .exchange(
      Exchange(request: UpstreamRequest(request, settings, to: upstream, secrets: [token])) {
        reply throws(UpstreamFailure) in
        UpstreamOutcome(try STS.credentials(from: reply, isDirect: true), nil, clock)
      })
  }

  private var settings: HTTPSettings {
    .aws(at: profile.stsOrigin, caFile: profile.settings.caFile)
  }

  func places(_ queues: inout CallQueues) -> [ProbedPlace] {
    [.sts(role.sts, settings, queues.queueOfRoles(role.sts))]
  }
}
