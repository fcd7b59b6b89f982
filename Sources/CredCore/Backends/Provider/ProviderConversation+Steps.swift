/// Steps of a sign-in by browser.
extension ProviderConversation {
  mutating func prepared(
    _ provider: ProviderMetadata, _ challenge: String, _ now: Instant
  ) -> Action {
    guard case .preparing(let request, let secrets) = state else {
      preconditionFailure("only a sign-in by browser is prepared")
    }
    do throws(InvalidInput) {
      guard let endpoint = provider.authorization else {
        throw InvalidInput(field: "authorization_endpoint", reason: "is missing")
      }
      if let name = endpoint.reservedParameter {
        throw InvalidInput(
          field: "authorization_endpoint", reason: "holds \(name.quoted), which credd sets itself")
      }
      let url = try request.url(at: endpoint, secrets, challenge: challenge)
      let question = SignInChallenge(
        .browser(url: url, redirectURI: request.redirectURI, state: secrets.state),
        name: "AUTHORIZATION_CODE")
      state = .browsing(
        Browsing(
          request: request, secrets: secrets, provider: provider, challenge: question,
          deadline: now + Limits.OIDC.browserTime))
      return .ask(question)
    } catch {
      return fail(UpstreamFailure(upstream, FailureTable.unusableProvider, said: error.description))
    }
  }

  mutating func answered(_ answers: ChallengeAnswers, _ now: Instant) -> Action {
    guard let challenge else { preconditionFailure("only a question is answered") }
    do throws(ProtocolError) {
      try answers.check(fit: challenge.step)
    } catch {
      return .refuse(error)
    }
    switch state {
    case .browsing(let browsing): return judge(answers, browsing)
    case .confirming(let signIn, _, _): return confirmed(answers, signIn)
    // A client with nothing to answer may ask whether the sign-in has ended.
    case .typing: return .wait
    case .begun, .preparing, .exchanging, .startingDevice, .ended:
      preconditionFailure("there is no question")
    }
  }

  private mutating func judge(_ answers: ChallengeAnswers, _ browsing: Browsing) -> Action {
    let judgement = AuthorizationResponse.judge(
      answers["response"] ?? Secret(""), state: browsing.secrets.state, from: browsing.provider,
      for: plan.backend)
    switch judgement {
    case .foreign(let reason):
      return .refuse(
        .invalid(
          "\"response\" \(reason): give the query of the URL to which the browser was sent back in "
            + "this sign-in"))
    case .failed(let failure):
      return fail(failure, isRefusal: failure.failureClass == .signInFailed)
    case .code(let code):
      // The code is valid once, whatever the outcome.
      state = .exchanging
      exchangedAt = browsing.provider
      return .send(
        .exchange(
          code: code, redirectURI: browsing.request.redirectURI, browsing.secrets,
          at: browsing.provider))
    }
  }

  // MARK: The device code

  mutating func granted(
    _ grant: DeviceGrant, _ provider: ProviderMetadata, _ now: Instant
  ) -> Action {
    guard case .startingDevice = state else { preconditionFailure("no device code was wanted") }
    let challenge = SignInChallenge(
      .device(
        userCode: grant.userCode, url: grant.url, completeURL: grant.completeURL,
        interval: grant.interval), name: "DEVICE_CODE")
    state = .typing(
      Typing(
        grant: grant, provider: provider, challenge: challenge,
        polling: DevicePolling(grant, now: now)))
    return .ask(challenge)
  }

  mutating func poll() -> Action {
    guard case .typing(var typing) = state, !typing.isAsking else { return .wait }
    typing.isAsking = true
    state = .typing(typing)
    return .send(.poll(typing.grant, at: typing.provider))
  }

  mutating func answered(
    _ answer: DeviceAnswer, _ serverTime: WallTime?, _ present: Present, _ now: Instant
  ) -> Action {
    guard case .typing(var typing) = state else {
      preconditionFailure("no device code was asked for")
    }
    switch answer {
    case .pending, .slowDown:
      typing.isAsking = false
      typing.polling.received(answer, now: now)
      state = .typing(typing)
      return .wait
    case .tokens(let reply):
      exchangedAt = typing.provider
      return received(reply, serverTime, present, now)
    case .ended(let failure):
      return fail(failure, isRefusal: failure.failureClass == .signInFailed)
    }
  }

  // MARK: Failures

  mutating func failed(_ failure: UpstreamFailure, _ now: Instant) -> Action {
    switch state {
    case .typing: return answered(OIDCClient.deviceAnswer(to: failure), nil, Present(), now)
    // The provider may have used up the code.
    case .exchanging where failure.isReplyLost:
      return fail(.outcomeUnknown(of: "the code", at: upstream))
    case .preparing, .startingDevice, .exchanging:
      return fail(failure, isRefusal: failure.failureClass == .signInFailed)
    case .begun, .browsing, .confirming, .ended:
      preconditionFailure("nothing is under way that could fail")
    }
  }

  // MARK: The tokens

  /// Takes the tokens of the provider. credd keeps and reports nothing before their user is known.
  mutating func received(
    _ reply: OIDCTokenReply, _ serverTime: WallTime?, _ present: Present, _ now: Instant
  ) -> Action {
    guard let provider = exchangedAt else { preconditionFailure("nobody gave these tokens") }
    let tokens: OIDCTokens
    do throws(UpstreamFailure) {
      tokens = try reply.tokens.get()
    } catch {
      unclaimed = UnclaimedTokens(reply.refresh, from: provider, of: nil)
      return fail(error, isRefusal: error.failureClass == .signInFailed)
    }
    let signIn = ProviderSignIn(
      tokens: tokens, provider: provider, clientID: plan.clientID, serverTime: serverTime,
      received: now)
    unclaimed = UnclaimedTokens(signIn)
    if let problem = plan.required.problem(in: tokens.id) {
      return fail(notYours(problem), isRefusal: true)
    }
    guard let step = confirmation(of: signIn, present) else { return finish(signIn) }
    let challenge = SignInChallenge(step, name: "CONFIRM")
    state = .confirming(signIn, challenge, deadline: now + Self.confirmationTime)
    return .ask(challenge)
  }

  /// The step in which the user confirms who they are; nil if no mix-up is possible.
  private func confirmation(of signIn: ProviderSignIn, _ present: Present) -> SignInStep? {
    let (issuer, token) = (signIn.provider.issuer.description, signIn.tokens.id)
    let isReplacing = present.user.map { user in
      user.issuer.map { !PoolIssuers.areSame($0, issuer) } ?? true
        || user.subject != token.subject
    }
    // A user who is linked already need not confirm to be linked again.
    guard isReplacing ?? (present.linksTo != nil) else { return nil }
    return .confirm(
      issuer: issuer, subject: token.subject, username: token.username,
      replaces: isReplacing ?? false ? present.user?.shown : nil, linksTo: present.linksTo)
  }

  private mutating func confirmed(_ answers: ChallengeAnswers, _ signIn: ProviderSignIn) -> Action {
    do throws(ProtocolError) {
      try answers.checkConsent()
    } catch {
      return .refuse(error)
    }
    return finish(signIn)
  }

  private mutating func finish(_ signIn: ProviderSignIn) -> Action {
    state = .ended
    unclaimed = nil
    return .finish(signIn)
  }

  private func notYours(_ problem: String) -> UpstreamFailure {
    UpstreamFailure(
      upstream: upstream, failureClass: .signInFailed, code: .signInFailed,
      message: "the account that signed in at \(upstream) may not be used by this user: \(problem)",
      summary: "the account that signed in at \(upstream) is not this user's", severity: .expected)
  }
}

extension UnclaimedTokens {
  /// The tokens of a sign-in that has ended without success.
  public init?(_ signIn: ProviderSignIn) {
    self.init(signIn.tokens.refresh, from: signIn.provider, of: signIn.tokens.id.subject)
  }
}
