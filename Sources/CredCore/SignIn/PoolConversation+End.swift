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
    // A device whose proof is refused is as good as forgotten.
    let isGone = failure.remedy == .withoutDevice || sent.isOfDevice && failure.isRefusal
    if isGone, device != nil, droppedDevice == nil { return startWithoutDevice(&context) }
    guard let question = sent.question else {
      return fail(failure, isRefusal: failure.isRefusal && !sent.isOfDevice)
    }
    if failure.remedy == .answerAgain {
      wrongAnswers += 1
      guard wrongAnswers < Self.mostWrongAnswers else { return fail(failure, isRefusal: true) }
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

  func unsupported(_ what: String) -> UpstreamFailure {
    UpstreamFailure(
      upstream: upstream, failureClass: .permanentConfiguration, code: .poolMisconfigured,
      message:
        "\(upstream) asks for \(what), which credd does not answer: allow another way in the "
        + "user pool, or set auth_flow", severity: .operatorMustAct)
  }

  var tooManyAnswers: UpstreamFailure {
    UpstreamFailure(
      upstream: upstream, failureClass: .signInFailed, code: .signInFailed,
      message: "\(upstream) refused \(Self.mostWrongAnswers) answers: sign in again",
      severity: .expected)
  }

  /// The answer may have counted. Sent again it would be refused, or count twice.
  private var unknownOutcome: UpstreamFailure {
    var failure = UpstreamFailure(
      upstream: upstream, failureClass: .signInFailed, code: .signInFailed,
      message: "\(upstream) did not say whether it takes the answer: sign in again",
      severity: .expected)
    failure.reason = "OutcomeUnknown"
    return failure
  }

  static func noPassword(_ upstream: Upstream) -> UpstreamFailure {
    UpstreamFailure(
      upstream: upstream, failureClass: .signInFailed, code: .signInRequired,
      message: "\(upstream) needs a password", severity: .expected)
  }

  // MARK: Tokens

  mutating func received(
    _ tokens: PoolTokens, _ serverTime: WallTime?, _ context: inout Context
  ) -> Action {
    if let id = tokens.id.username, let access = tokens.access.username,
      !id.utf8.elementsEqual(access.utf8)
    {
      return fail(malformed("AccessToken", "is another user's than IdToken"))
    }
    let arrival = Arrival(tokens: tokens, serverTime: serverTime, received: context.now)
    guard let new = tokens.newDevice, new.key != device?.key else {
      // The token names a device of which the reply said nothing.
      return finish(arrival, deviceKey: device?.key ?? tokens.access.deviceKey)
    }
    let secret = DeviceSecret(new, using: &context.random)
    state = .confirming(arrival, secret, .computing)
    return .compute(.deviceVerifier(secret, DeviceSalt(using: &context.random)))
  }

  // MARK: The device

  /// At once: a pool that keeps devices renews the tokens of confirmed ones alone.
  mutating func confirm(
    _ device: DeviceSecret, _ arrival: Arrival, _ verifier: DeviceVerifier, isRepeated: Bool
  ) -> Action {
    state = .confirming(arrival, device, .sending(verifier, isRepeated: isRepeated))
    return .send(
      .confirmDevice(accessToken: arrival.tokens.access.token, key: device.key, verifier))
  }

  mutating func confirmed(
    _ device: DeviceSecret, _ arrival: Arrival, needsConsent: Bool, _ context: Context
  ) -> Action {
    switch plan.rememberDevice {
    case .no: return finish(arrival, deviceKey: device.key)
    case .yes: return remember(device, arrival, needsConsent: needsConsent)
    case .ask:
      return ask(
        .device(arrival, device, needsConsent: needsConsent), name: "DEVICE", after: nil, context)
    }
  }

  mutating func remember(
    _ device: DeviceSecret, _ arrival: Arrival, needsConsent: Bool
  ) -> Action {
    guard needsConsent else {
      return finish(arrival, deviceKey: device.key, newDevice: device)
    }
    state = .confirming(arrival, device, .remembering)
    return .send(.rememberDevice(accessToken: arrival.tokens.access.token, key: device.key))
  }

  /// The user is signed in: the device is the pool's wish. Without it the sign-in lasts as long as its
  /// tokens.
  private mutating func confirmationFailed(
    _ failure: UpstreamFailure, _ step: Confirmation, _ device: DeviceSecret, _ arrival: Arrival,
    _ context: Context
  ) -> Action {
    switch step {
    case .sending(let verifier, isRepeated: false) where failure.failureClass.isTransient:
      return confirm(device, arrival, verifier, isRepeated: true)
    case .sending where failure.remedy == .alreadyDone:
      return confirmed(device, arrival, needsConsent: true, context)
    case .remembering: return finish(arrival, deviceKey: device.key)
    case .computing, .sending: return finish(arrival, deviceKey: nil)
    }
  }

  mutating func finish(
    _ arrival: Arrival, deviceKey: String?, newDevice: DeviceSecret? = nil
  ) -> Action {
    let tokens = arrival.tokens
    let result = PoolSignInResult(
      signIn: PoolSignIn(
        tokens: tokens, username: tokens.access.username ?? tokens.id.username ?? username,
        deviceKey: deviceKey, issuer: plan.issuer, serverTime: arrival.serverTime,
        received: arrival.received),
      newDevice: newDevice, droppedDevice: droppedDevice)
    state = .ended
    forgetSecrets()
    return .finish(result)
  }
}

extension UpstreamFailure {
  /// A proof took too long on this host.
  public static func proofOverdue(for upstream: Upstream) -> UpstreamFailure {
    UpstreamFailure(
      upstream: upstream, failureClass: .transient(retryAfter: nil), code: .backendUnavailable,
      message: "\(upstream) got no proof of the password: this host is too busy to compute it; "
        + "try again", severity: .operatorMustAct)
  }

  /// Whether the password or an answer was wrong, or may have been.
  fileprivate var isRefusal: Bool { failureClass == .signInFailed && code == .signInFailed }

  /// Whether the upstream has done nothing of what was asked.
  fileprivate var wasNotCarriedOut: Bool {
    switch failureClass {
    case .throttled: true
    default: isWithheld || evidence == .certain
    }
  }

  /// Whether the upstream itself said what is wrong, and not that it has a fault.
  fileprivate var isNamed: Bool { reason != nil && evidence == .none }
}
