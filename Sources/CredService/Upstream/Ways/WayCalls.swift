import CredCore

/// The calls by which a way gets what a profile hands out, beside those at the profile's backend.
protocol WayCalls {
  /// Whom the first of these calls asks.
  var upstream: Upstream { get }
  /// The queue in which a call waits; nil for a call that reaches no upstream.
  func queue(of call: UpstreamCall, in queues: inout CallQueues) -> CallQueue?
  /// The next step of a call.
  func prepared(
    _ call: UpstreamCall, for user: UnixUser, _ inputs: CallInputs
  ) throws(Unprepared) -> Prepared<UpstreamOutcome>
  /// The servers that `check` asks.
  func places(_ queues: inout CallQueues) -> [ProbedPlace]
}

extension Profile {
  /// The calls of the profile's way. A new way is a folder beside this file, and a case here.
  func calls(_ memory: ExchangeMemory) -> any WayCalls {
    switch way {
    case .pool(let way): PoolCalls(self, way.pool, memory.services)
    case .role(let way): RoleCalls(self, way.role, memory.services)
    case .tokens: TokensCalls(backend)
    case .derived(let way): DerivedCalls(self, way.derivation, memory)
    }
  }
}

// MARK: What ways have in common

extension WayCalls {
  /// The login of the profile's file, read anew for each call, because sidecars replace the file.
  func tokenOfFile(
    _ settings: ProfileSettings, _ inputs: CallInputs
  ) throws(Unprepared) -> Prepared<UpstreamOutcome> {
    guard let path = settings.webIdentityTokenFile else {
      throw .failed(.unfitSession(of: upstream))
    }
    return .outcome(
      .fileToken(
        try inputs.file(path, as: .line, key: "web_identity_token_file", for: upstream)))
  }
}

extension HTTPSettings {
  /// If an exchange takes longer, it fails and is tried again.
  private static let awsTimeout: Duration = .seconds(10)

  /// How a service of AWS is reached.
  static func aws(at origin: HostOrigin, caFile: String?) -> HTTPSettings {
    var settings = HTTPSettings(timeout: awsTimeout, replyLimit: Limits.Upstream.awsReplyBytes)
    settings.caFile = caFile
    settings.hostOrigin = origin
    return settings
  }
}

extension ProbedPlace {
  /// STS, as a way reaches it.
  static func sts(_ sts: STS, _ settings: HTTPSettings, _ queue: CallQueue) -> ProbedPlace {
    ProbedPlace(
      name: "sts", upstream: .sts, url: sts.host.url, settings: settings.probing, queue: queue)
  }
}
