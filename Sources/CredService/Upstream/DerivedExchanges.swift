import CredCore

/// Calls of STS that a source's credentials sign: GetScopedCredentials and AssumeRole.
struct DerivedExchanges {
  private let profile: Profile
  private let derivation: Derivation
  private let memory: ExchangeMemory

  /// Nil for a profile with an identity of its own.
  init?(_ profile: Profile, _ memory: ExchangeMemory) {
    guard let derivation = profile.derivation else { return nil }
    self.profile = profile
    self.derivation = derivation
    self.memory = memory
  }

  func derive(
    from source: SourceCredentials, for user: UnixUser, _ inputs: CallInputs
  ) throws(Unprepared) -> Prepared<UpstreamOutcome> {
    let crypto = try inputs.crypto(for: .sts)
    let (host, clock) = (derivation.sts.host, memory.signatureClock)
    let derived: DerivedRequest
    do {
      derived = try derivation.request(from: source, user, host: memory.services.hostName)
    } catch {
      throw .failed(.unfitUser(error))
    }
    let signed = clock.now(at: host.url)
    let request = try Upstream.sts.checked { () throws(InvalidInput) in
      try SigV4(source.credentials).sign(
        derived.request, for: host, digests: crypto, now: signed)
    }
    let digest = derived.policy.map { crypto.hexadecimalSHA256(of: $0) }
    // Whether another time of signing may help.
    var isOtherTime = false
    var exchange = Exchange(request: UpstreamRequest(request, settings, to: .sts)) {
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

  /// The server that `check` asks.
  func places(_ turns: CallTurns) -> [ProbedPlace] {
    [
      ProbedPlace(
        name: "sts", upstream: .sts, url: derivation.sts.host.url,
        settings: settings.probing,
        queue: turns.queues.queue(of: derivation, derivation.account))
    ]
  }

  private var settings: HTTPSettings {
    var settings = HTTPSettings(
      timeout: Sender.awsTimeout, replyLimit: Limits.Upstream.awsReplyBytes)
    settings.caFile = derivation.caFile
    settings.hostOrigin = profile.stsOrigin
    return settings
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
