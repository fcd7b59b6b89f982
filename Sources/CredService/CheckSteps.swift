import CredCore

/// The steps of a `check`, in words.
extension CheckStep {
  /// The step where the user has to act. credctl ends with the status of a `get` that wants a sign-in.
  private static let session = "session"
  /// AWS refuses a signature with a time that is further off.
  private static let mostClockDifference: Int64 = 300

  // MARK: Servers

  /// - Parameter aws: how far AWS's clock is ahead of this host's; nil if that is not known.
  init(_ outcome: ProbeOutcome, aws: Duration?, forAdmin isAdmin: Bool) {
    switch outcome.result {
    case .failure(let failure):
      self.init(
        outcome.name, isOK: false, duration: outcome.duration,
        detail: Self.text(of: failure, forAdmin: isAdmin))
    case .success(let answer):
      var parts = [answer.words(outcome.trial)]
      if let tls = answer.connection?.tls { parts.append(tls) }
      let clock = Self.clock(of: outcome, aws)
      if let words = clock.words { parts.append(words) }
      if isAdmin, let connection = answer.connection {
        parts += [connection.address, connection.certificate].compactMap(\.self)
      }
      self.init(
        outcome.name, isOK: clock.isOK, duration: outcome.duration,
        detail: parts.joined(separator: "; "))
    }
  }

  /// AWS's clock is right. Where it is not known, a difference may be this host's fault.
  private static func clock(
    of outcome: ProbeOutcome, _ aws: Duration?
  ) -> (words: String?, isOK: Bool) {
    guard let difference = outcome.clockDifference?.components.seconds else { return (nil, true) }
    let own = outcome.isOfAWS ? 0 : aws.map { difference - $0.components.seconds } ?? 0
    // HTTP gives times in whole seconds. No developer token counts by the clock of a backend.
    guard abs(own) <= 2 else {
      return ("its clock is \(abs(own)) s \(own > 0 ? "fast" : "slow"): set it there", true)
    }
    return (
      abs(difference) <= 2
        ? "its clock agrees" : "its clock differs by \(difference) s: set the time",
      abs(difference) <= mostClockDifference
    )
  }

  /// Only administrators may read the text of an upstream and its address.
  static func text(of failure: UpstreamFailure, forAdmin isAdmin: Bool) -> String {
    guard isAdmin else { return failure.summary }
    return [failure.message, failure.detail].compactMap(\.self).joined(separator: "; ")
  }

  // MARK: Past requests

  /// The step for a profile in which users' last requests failed, with the last of these failures.
  init(
    _ requests: LastRequests, in profile: String, at time: WallTime, _ last: UpstreamFailure
  ) {
    let whose =
      requests.users == 1 ? "of its user" : "of \(requests.failed) of \(requests.users) users"
    self.init(
      "requests in '\(profile)'", isOK: false,
      detail: "the last request \(whose) failed, at \(time.iso8601): "
        + Self.text(of: last, forAdmin: true))
  }

  // MARK: Enrolments

  /// Right while it lasts: the journal warns of its end.
  init(enrolmentAt backend: String, until end: WallTime, now: WallTime) {
    let days = (end - now).components.seconds / 86_400
    let left =
      switch days {
      case ..<1: "within a day"
      case 1: "within two days"
      default: "in \(days) days"
      }
    self.init(
      "enrolment at '\(backend)'", isOK: now < end,
      detail: now < end ? "ends \(left), at \(end.iso8601)" : "has ended at \(end.iso8601)")
  }

  // MARK: Regions

  /// A step for each region that AWS is not known to have.
  static func regions(of profiles: [Profile], _ outcomes: [ProbeOutcome]) -> [CheckStep] {
    var seen: Set<String> = []
    return profiles.flatMap(\.namedRegions).filter {
      !KnownRegions.contains($0.region) && seen.insert($0.region).inserted
    }.map { CheckStep($0, outcomes) }
  }

  /// AWS adds regions: a name is wrong only where a known one is near and its servers do not answer.
  private init(_ named: NamedRegion, _ outcomes: [ProbeOutcome]) {
    let isAway = outcomes.contains { $0.hasFailed && $0.url.contains(bytesOf: ".\(named.region).") }
    let near = KnownRegions.suggestion(for: named.region)
    let advice = near.map { ": did you mean \($0)?" } ?? ""
    self.init(
      "region", isOK: near == nil || !isAway,
      detail: "\(named.region) (\(named.key)) is no region of AWS that credd knows of\(advice)")
  }

  // MARK: Sessions

  /// The step for the source of a derived session; nil for another one.
  init?(sourceOf session: Session) {
    guard let source = session.source else { return nil }
    let expiration = source.machine.expiration?.iso8601
    self.init(
      "source '\(source.key.profile)'", isOK: expiration != nil,
      detail: expiration.map { "valid until \($0)" } ?? "has no credentials")
  }

  /// The step for a session that was not renewed. It is right if a `get` would be answered.
  ///
  /// - Parameters:
  ///   - profile: the profile that is checked.
  ///   - root: the profile in which users sign in to it.
  ///   - last: when the session last failed since its last success. If another user's session
  ///     failed, which user's.
  init(
    unrenewed machine: SessionMachine, in profile: Profile, of root: String,
    after last: (at: String, failure: UpstreamFailure)?, forAdmin isAdmin: Bool
  ) {
    let login = "sign in with 'credctl login \(root)'"
    let get = profile.settings.vendCredentials ? "'credctl get \(profile.settings.name)'" : nil
    switch machine.state {
    case .tokensInvalid:
      self.init(Self.session, isOK: false, detail: "the sign-in is no longer accepted: \(login)")
    case .signedIn where machine.received == nil:
      self.init(
        Self.session, isOK: false,
        detail: "what the sign-in gave has ended, and nothing renews it: \(login)")
    case .signedIn:
      let end = machine.expiration.map { " until \($0.iso8601)" } ?? ""
      self.init(
        Self.session, isOK: true,
        detail: "signed in\(end); nothing renews it, because the provider gave no refresh token")
    case .signedOut where machine.signsInByItself:
      guard let last else {
        self.init(
          Self.session, isOK: true,
          detail: "not used yet, so nothing was renewed"
            + (get.map { ": \($0) asks for credentials" } ?? ""))
        return
      }
      var error = last.failure.protocolError
      if isAdmin, let detail = last.failure.detail { error.message += "; \(detail)" }
      error.message =
        "at \(last.at): \(error.message)" + (get.map { "; to try again: \($0)" } ?? "")
      self.init(refusedWith: error, otherwise: "last request")
    case .signedOut, .guest:
      self.init(Self.session, isOK: false, detail: "nobody is signed in: \(login)")
    }
  }

  /// The step for an answer that a `get` would not get.
  ///
  /// - Parameter name: its name where the user cannot help it.
  init(refusedWith error: ProtocolError, otherwise name: String) {
    let isOfUser = [.signIn, .denied].contains(error.kind)
    self.init(isOfUser ? Self.session : name, isOK: false, detail: error.message)
  }
}

/// How the users' last requests in a profile ended. What only a user can mend, such as an ended sign-in, is
/// no fault of the profile.
struct LastRequests {
  private(set) var users = 0
  private(set) var failed = 0
  /// The last failure.
  private(set) var last: PastFailure?

  /// - Parameter failure: of a further user; nil if the user's last request was answered.
  mutating func add(_ failure: PastFailure?) {
    users += 1
    guard let failure, [.permanent, .temporary].contains(failure.failure.protocolError.kind) else {
      return
    }
    failed += 1
    if last.map({ $0.at < failure.at }) ?? true { last = failure }
  }
}

extension Session {
  /// How much of the session token is left; empty where STS does not say it.
  var tokenNote: String {
    let used = machine.credentials?.credentials.session?.tokenUtilization
    return used.map { "; the session token is \($0) % full" } ?? ""
  }
}

extension ProbeOutcome {
  /// A server that was not asked may answer.
  fileprivate var hasFailed: Bool {
    if case .failure(let failure) = result { !failure.isWithheld } else { false }
  }
}

extension ProbeOutcome.Answer {
  /// What it shows. A server's own fault is worth a word.
  fileprivate func words(_ trial: ProbeOutcome.Trial) -> String {
    let reachable = status < 500 ? "reachable" : "reachable, with status \(status)"
    return switch trial {
    case .answer: "answered (HTTP \(status))"
    case .server: reachable
    case .serverWithoutPath: "\(reachable) (its path is not tried)"
    }
  }
}
