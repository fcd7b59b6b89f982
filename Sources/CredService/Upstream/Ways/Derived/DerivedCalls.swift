import CredCore

/// Calls of STS that a source's credentials sign: GetScopedCredentials and AssumeRole.
struct DerivedCalls: WayCalls {
  private let profile: Profile
  private let derivation: Derivation
  private let memory: ExchangeMemory

  init(_ profile: Profile, _ derivation: Derivation, _ memory: ExchangeMemory) {
    self.profile = profile
    self.derivation = derivation
    self.memory = memory
  }

  var upstream: Upstream { .sts }

  func queue(of call: UpstreamCall, in queues: inout CallQueues) -> CallQueue? {
    guard case .derive(let source) = call else { return nil }
    return queue(derivation.account(of: source), in: &queues)
  }

  /// STS throttles the account of the credentials that sign, whatever they ask for.
  private func queue(_ account: String?, in queues: inout CallQueues) -> CallQueue {
    queues.queue(
      "AssumeRole and GetScopedCredentials", derivation.sts.host, queues.settings.assumeRoleRate,
      upstream, account: account ?? "")
  }

  func prepared(
    _ call: UpstreamCall, for user: UnixUser, _ inputs: CallInputs
  ) throws(Unprepared) -> Prepared<UpstreamOutcome> {
    guard case .derive(let source) = call else {
      throw .failed(.unfitSession(of: upstream))
    }
    let crypto = try inputs.crypto(for: upstream)
    let (host, clock) = (derivation.sts.host, memory.signatureClock)
    let derived: DerivedRequest
    do {
      derived = try derivation.request(from: source, user, host: memory.services.hostName)
    } catch {
      throw .failed(.unfitUser(error))
    }
    let signed = clock.now(at: host.url)
    let request = try upstream.checked { () throws(InvalidInput) in
      try SigV4(source.credentials).sign(
        derived.request, for: host, digests: crypto, now: signed)
    }
    let digest = derived.policy.map { crypto.hexadecimalSHA256(of: $0) }
    // Whether another time of signing may help.
    var isOtherTime = false
    var exchange = Exchange(request: UpstreamRequest(request, settings, to: upstream)) {
      reply throws(UpstreamFailure) in
      do throws(UpstreamFailure) {
        return try outcome(of: reply, derived, source, policySHA256: digest)
      } catch {
        if error.signatureFault == .time {
          isOtherTime = clock.refused(signed: signed, by: host.url, at: reply.date)
        }
        throw error
      }
    }
    exchange.isRepeated = { $0.signatureFault == .time && isOtherTime }
    return .exchange(exchange)
  }

  /// Takes only an answer that gives no more than was asked for.
  private func outcome(
    of reply: HTTPReply, _ sent: DerivedRequest, _ source: SourceCredentials,
    policySHA256: String?
  ) throws(UpstreamFailure) -> UpstreamOutcome {
    let answer: SignedReply
    switch derivation.call {
    case .scope: answer = try STS.scoped(from: reply)
    case .hop: answer = try STS.assumed(from: reply)
    }
    let now = answer.serverTime ?? memory.services.clock.wallTime
    if let fault = derivation.fault(in: answer, to: sent, from: source, now: now) {
      throw .refusedAnswer(fault)
    }
    var credentials = answer.credentials
    credentials.session?.sourceAccessKeyID = source.credentials.accessKeyID
    credentials.session?.policySHA256 = policySHA256
    return .derived(credentials, lifetime: credentials.expiration - now)
  }

  private var settings: HTTPSettings {
    .aws(at: profile.stsOrigin, caFile: derivation.caFile)
  }

  func places(_ queues: inout CallQueues) -> [ProbedPlace] {
    [.sts(derivation.sts, settings, queue(derivation.account, in: &queues))]
  }
}

extension SigV4 {
  fileprivate init(_ credentials: Credentials) {
    self.init(
      accessKeyID: credentials.accessKeyID, secretAccessKey: credentials.secretAccessKey,
      sessionToken: credentials.sessionToken)
  }
}

extension Digests {
  fileprivate func hexadecimalSHA256(of text: String) -> String {
    String(decoding: Hex.encode(sha256(Array(text.utf8))), as: UTF8.self)
  }
}
