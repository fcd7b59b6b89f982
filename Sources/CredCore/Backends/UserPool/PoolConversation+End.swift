/// Failures, and the tokens.
extension PoolConversation {
  // MARK: Failures

  mutating func failed(_ failure: UpstreamFailure, _ context: inout Context) -> Action {
    switch state {
    case .confirming(let arrival, let device, let step):
      return confirmationFailed(failure, step, device, arrival, context)
    case .sending(let sent): return requestFailed(failure, sent, &context)
    case .preparing, .proving, .begun: return fail(failure)
    case .asked, .ended: preconditionFailure("nothing is under way that could fail")
    }
  }

  private mutating func requestFailed(
    _ failure: UpstreamFailure, _ sent: Sent, _ context: inout Context
  ) -> Action {
    // If the pool refuses the proof of a device, the device counts as forgotten.
    let isGone = failure.remedy == .withoutDevice || sent.isOfDevice && failure.isRefusal
    if isGone, device != nil, droppedDevice == nil { return startWithoutDevice(&context) }
    guard let question = sent.question else {
      return fail(failure, isRefusal: failure.isRefusal && !sent.isOfDevice)
    }
    if failure.remedy == .answerAgain {
      wrongAnswers += 1
      guard wrongAnswers < Limits.Challenge.wrongAnswers else {
        return fail(failure, isRefusal: true)
      }
      state = .asked(question)
      return .askAgain(failure, isRefusal: true)
    }
    if failure.wasNotCarriedOut {
      state = .asked(question)
      return .askAgain(failure, isRefusal: false)
    }
    if failure.failureClass.isTransient, !failure.isNamed { return fail(unknownOutcome) }
    return fail(failure, isRefusal: failure.isRefusal)
  }

  mutating func fail(_ failure: UpstreamFailure, isRefusal: Bool = false) -> Action {
    state = .ended
    forgetSecrets()
    return .fail(failure, isRefusal: isRefusal)
  }

  private mutating func forgetSecrets() {
    input.password = nil
    input.devices = []
    input.metadata = ClientMetadata()
    input.validationData = ClientMetadata()
    device = nil
  }

  func malformed(_ field: String, _ reason: String) -> UpstreamFailure {
    .malformed(InvalidInput(field: field, reason: reason), from: upstream)
  }

  /// - Parameters:
  ///   - ways: what the pool offers.
  ///   - challenge: the challenge that offers them; nil if they are challenges themselves.
  func unsupported(_ ways: [String], of challenge: String? = nil) -> UpstreamFailure {
    if !ways.isEmpty, ways.allSatisfy({ ChallengeName(rawValue: $0) == .passkey }) {
      return passkeyNeeded
    }
    let list = ways.joined(separator: ", ")
    let what = challenge.map { ways.isEmpty ? $0 : "\($0) of \(list)" } ?? list
    return UpstreamFailure(
      upstream: upstream, failureClass: .permanentConfiguration, code: .poolMisconfigured,
      message:
        "\(upstream) asks for \(what), which credd does not answer: allow another way in the "
        + "user pool, or set auth_flow", severity: .operatorMustAct)
  }

  private var passkeyNeeded: UpstreamFailure {
    UpstreamFailure(
      upstream: upstream, failureClass: .signInFailed, code: .signInFailed,
      message:
        "\(upstream): this sign-in needs a passkey (\(ChallengeName.passkey.rawValue)), which only a "
        + "browser can do: sign in by browser where the backend has a domain, or have another way "
        + "allowed in the user pool", severity: .expected)
  }

  var tooManyAnswers: UpstreamFailure {
    UpstreamFailure(
      upstream: upstream, failureClass: .signInFailed, code: .signInFailed,
      message: "\(upstream) refused \(Limits.Challenge.wrongAnswers) answers: sign in again",
      severity: .expected)
  }

  private var unknownOutcome: UpstreamFailure {
    .outcomeUnknown(of: "the answer", at: upstream)
  }

  static func noPassword(_ upstream: Upstream) -> UpstreamFailure {
    UpstreamFailure(
      upstream: upstream, failureClass: .signInFailed, code: .signInRequired,
      message: "\(upstream) needs a password", severity: .expected)
  }

  // MARK: Tokens

  mutating func received(
    _ tokens: ProviderTokens, _ serverTime: WallTime?, _ context: inout Context
  ) -> Action {
    if let id = tokens.id.username, let access = tokens.access.username,
      !id.utf8.elementsEqual(access.utf8)
    {
      return fail(malformed("AccessToken", "is another user's than IdToken"))
    }
    let arrival = ReceivedTokens(tokens: tokens, serverTime: serverTime, received: context.now)
    guard let new = tokens.newDevice, new.key != device?.key else {
      // The token may name a device that the reply did not mention.
      return finish(arrival, deviceKey: device?.key ?? tokens.access.deviceKey)
    }
    let secret = DeviceSecret(new, using: &context.random)
    // The pool gets no device of a sign-in that is abandoned at this question.
    guard plan.rememberDevice != .ask else {
      return ask(.device(arrival, secret), name: "DEVICE", after: nil, context)
    }
    return computeVerifier(of: secret, arrival, &context)
  }

  // MARK: The device

  mutating func computeVerifier(
    of device: DeviceSecret, _ arrival: ReceivedTokens, _ context: inout Context
  ) -> Action {
    state = .confirming(arrival, device, .computing)
    return .compute(.deviceVerifier(device, DeviceSalt(using: &context.random)))
  }

  /// The device is confirmed at once, because a pool that tracks devices renews only the tokens of
  /// confirmed ones.
  mutating func confirm(
    _ device: DeviceSecret, _ arrival: ReceivedTokens, _ verifier: DeviceVerifier, attempt: Int
  ) -> PoolRequest {
    state = .confirming(arrival, device, .sending(verifier, attempt: attempt))
    return .confirmDevice(accessToken: arrival.tokens.access.token, key: device.key, verifier)
  }

  /// - Parameter needsConsent: whether the pool remembers the device only if it is told so. Another pool
  ///   remembers it unless the user has said no.
  mutating func confirmed(
    _ device: DeviceSecret, _ arrival: ReceivedTokens, needsConsent: Bool
  ) -> Action {
    let isTold = wantsDevice ? needsConsent : !needsConsent && plan.rememberDevice == .ask
    guard isTold else { return finish(arrival, with: device) }
    state = .confirming(arrival, device, .remembering)
    return .send(
      .rememberDevice(
        accessToken: arrival.tokens.access.token, key: device.key, isRemembered: wantsDevice))
  }

  /// Ends with a device that the pool has confirmed.
  mutating func finish(_ arrival: ReceivedTokens, with device: DeviceSecret) -> Action {
    wantsDevice
      ? finish(arrival, deviceKey: device.key, newDevice: device)
      : finish(arrival, deviceKey: device.key, unusedDevice: device)
  }

  /// The user is signed in without the device too, but then the sign-in lasts only as long as its
  /// tokens. If the pool did not answer, it may have confirmed the device: so the key goes into
  /// renewals.
  private mutating func confirmationFailed(
    _ failure: UpstreamFailure, _ step: Confirmation, _ device: DeviceSecret,
    _ arrival: ReceivedTokens,
    _ context: Context
  ) -> Action {
    switch step {
    case .sending(let verifier, let attempt) where failure.failureClass.isTransient:
      guard attempt < Limits.Challenge.deviceConfirmations else {
        return finish(arrival, deviceKey: device.key)
      }
      let request = confirm(device, arrival, verifier, attempt: attempt + 1)
      guard let pause = failure.failureClass.pauseBefore(attempt) else { return .send(request) }
      return .sendLater(request, after: min(pause, Limits.Challenge.confirmationPause))
    case .sending where failure.remedy == .alreadyDone:
      return confirmed(device, arrival, needsConsent: true)
    case .remembering: return finish(arrival, deviceKey: device.key, unusedDevice: device)
    // A replica confirms no device.
    case .sending where failure.reason == "OperationNotEnabledException":
      return finish(arrival, deviceKey: device.key)
    case .computing, .sending: return finish(arrival, deviceKey: nil)
    }
  }

  /// Ends without the pool's confirmation of the device, if only that is missing; else nil.
  public mutating func withoutConfirmation() -> Action? {
    guard case .confirming(let arrival, let device, _) = state else { return nil }
    return finish(arrival, deviceKey: device.key)
  }

  /// The tokens of a user whom the pool has signed in, before the session has them.
  public var unclaimedTokens: ProviderSession? {
    switch state {
    case .asked(let question):
      guard case .device(let arrival, let device) = question.subject else { return nil }
      return ProviderSession(signIn(arrival, deviceKey: device.key), keepsAccessToken: false)
    case .confirming(let arrival, let device, _):
      return ProviderSession(signIn(arrival, deviceKey: device.key), keepsAccessToken: false)
    case .begun, .preparing, .sending, .proving, .ended: return nil
    }
  }

  /// The tokens in a reply that comes after the end of the sign-in.
  public func unclaimedTokens(in event: Event, now: Instant) -> ProviderSession? {
    guard case .replied(.signIn(let reply)) = event, case .tokens(let tokens) = reply.step else {
      return nil
    }
    let arrival = ReceivedTokens(tokens: tokens, serverTime: reply.serverTime, received: now)
    return ProviderSession(signIn(arrival, deviceKey: device?.key), keepsAccessToken: false)
  }

  private func signIn(_ arrival: ReceivedTokens, deviceKey: String?) -> AcceptedSignIn {
    let tokens = arrival.tokens
    return AcceptedSignIn(
      tokens: tokens, username: tokens.access.username ?? tokens.id.username ?? username,
      deviceKey: deviceKey, issuer: plan.issuer, serverTime: arrival.serverTime,
      received: arrival.received)
  }

  mutating func finish(
    _ arrival: ReceivedTokens, deviceKey: String?, newDevice: DeviceSecret? = nil,
    unusedDevice: DeviceSecret? = nil
  ) -> Action {
    let result = PoolSignInResult(
      signIn: signIn(arrival, deviceKey: deviceKey), newDevice: newDevice,
      unusedDevice: unusedDevice, droppedDevice: droppedDevice)
    state = .ended
    forgetSecrets()
    return .finish(result)
  }
}

extension FailureClass {
  /// How long to wait before the same request is made again, after so many attempts; nil for no
  /// pause.
  fileprivate func pauseBefore(_ attempt: Int) -> Duration? {
    if let retryAfter { return retryAfter }
    if case .throttled = self { return .seconds(attempt) }
    return attempt == 1 ? nil : .seconds(attempt)
  }
}

extension UpstreamFailure {
  /// The server may have counted the secret that a sign-in sent. If credd sent it again, the server
  /// would refuse it or count it twice.
  ///
  /// - Parameter what: `the answer` or `the code`.
  static func outcomeUnknown(of what: String, at upstream: Upstream) -> UpstreamFailure {
    var failure = UpstreamFailure(
      upstream: upstream, failureClass: .signInFailed, code: .signInFailed,
      message: "\(upstream) did not say whether it takes \(what): sign in again",
      severity: .expected)
    failure.reason = "OutcomeUnknown"
    return failure
  }

  /// A proof took too long on this host.
  public static func proofOverdue(for upstream: Upstream) -> UpstreamFailure {
    UpstreamFailure(
      upstream: upstream, failureClass: .transient(retryAfter: nil), code: .backendUnavailable,
      message: "\(upstream) got no proof of the password: this host is too busy to compute it; "
        + "try again", severity: .operatorMustAct)
  }

  /// Whether the password or an answer was wrong, or may have been.
  fileprivate var isRefusal: Bool { failureClass == .signInFailed && code == .signInFailed }

  /// Whether the upstream has certainly not carried out the request.
  fileprivate var wasNotCarriedOut: Bool {
    switch failureClass {
    case .throttled: true
    default: isWithheld || evidence == .certain
    }
  }

  /// Whether the upstream itself named the reason, and the reason is no fault of the upstream.
  fileprivate var isNamed: Bool { reason != nil && evidence == .none }
}
