import SeededRandom
import TestSupport
import Testing

@testable import CredCore

/// Drives a conversation with a provider.
private struct Talk {
  var conversation: ProviderConversation
  var now = Instant.seconds(1000)
  var random: any RandomNumberGenerator = SeededGenerator(seed: 7)

  init(_ way: ProviderConversation.Way, required: RequiredClaims = RequiredClaims()) {
    conversation = ProviderConversation(
      ProviderConversation.Plan(
        backend: "okta", clientID: "client-1", way: way, required: required))
  }

  static func browser(required: RequiredClaims = RequiredClaims()) -> Talk {
    Talk(
      .browser(
        AuthorizationRequest(
          clientID: "client-1", redirectURI: "http://127.0.0.1:4711/okta", scopes: ["openid"])),
      required: required)
  }

  mutating func handle(_ event: ProviderConversation.Event) -> ProviderConversation.Action {
    conversation.handle(event, now: now, random: &random)
  }

  mutating func answer(_ name: String, _ value: String) -> ProviderConversation.Action {
    handle(.answered(ChallengeAnswers([NamedSecret(name: name, value: Secret(value))])))
  }

  /// Goes on until the browser is asked for; the state of the sign-in.
  mutating func browse(
    _ provider: ProviderMetadata? = nil
  ) throws -> (state: String, secrets: AuthorizationSecrets) {
    guard case .send(.prepare(let secrets)) = handle(.started) else { throw Stray() }
    let provider = try provider ?? OIDCSamples.provider()
    guard case .ask(let challenge) = handle(.prepared(provider, challenge: "challenge-1")),
      case .browser(let url, let redirectURI, let state) = challenge.step
    else { throw Stray() }
    expect(redirectURI, equals: "http://127.0.0.1:4711/okta")
    expect(url.exposedText()?.contains("code_challenge=challenge-1") == true)
    expect(url.exposedText()?.contains(secrets.verifier.exposedText() ?? "") == false)
    expect(state, equals: secrets.state)
    return (try #require(state.exposedText()), secrets)
  }

  struct Stray: Error {}
}

struct ProviderConversationTests {
  private static func tokens(_ changed: [(String, String?)] = []) throws -> OIDCTokens {
    let reply = OIDCSamples.tokens(id: OIDCSamples.token(changed))
    return try OIDCSamples.client().renewal(
      from: reply, of: (changed.contains { $0.0 == "sub" } ? "user-2" : "user-1"),
      wallTime: OIDCSamples.now
    ).tokens.get()
  }

  private func finished(_ action: ProviderConversation.Action) -> ProviderSignIn? {
    if case .finish(let signIn) = action { signIn } else { nil }
  }

  // MARK: Browser

  @Test func aCodeIsExchangedAtTheProviderThatWasAsked() throws {
    var talk = Talk.browser()
    let (state, secrets) = try talk.browse()
    expect(talk.conversation.deadline, equals: talk.now + .seconds(600))
    let action = talk.answer("response", "code=c-1&state=\(state)")
    let provider = try OIDCSamples.provider()
    expect(
      action,
      equals: .send(
        .exchange(
          code: Secret("c-1"), redirectURI: "http://127.0.0.1:4711/okta", secrets, at: provider)))
    expect(talk.conversation.challenge == nil)
    talk.now = talk.now + .seconds(1)
    let tokens = try Self.tokens()
    let signIn = finished(
      talk.handle(.exchanged(.init(tokens), serverTime: OIDCSamples.now, present: .init())))
    expect(signIn?.tokens, equals: tokens)
    expect(signIn?.provider, equals: provider)
    expect(signIn?.received, equals: talk.now)
  }

  @Test func aStrangersResponseLeavesTheQuestionAsItWas() throws {
    var talk = Talk.browser()
    let (state, _) = try talk.browse()
    let question = talk.conversation.challenge
    for response in ["code=x&state=other", "code=x", "", "state=\(state)&state=\(state)&code=x"] {
      guard case .refuse(let error) = talk.answer("response", response) else {
        Issue.record("\(response) was taken")
        continue
      }
      expect(error.code, equals: .invalidRequest)
      expect(talk.conversation.challenge, equals: question)
    }
    guard case .send(.exchange) = talk.answer("response", "code=c&state=\(state)") else {
      Issue.record("the sign-in did not go on")
      return
    }
  }

  @Test func anErrorWithTheRightStateEndsTheSignIn() throws {
    var talk = Talk.browser()
    let (state, _) = try talk.browse()
    guard
      case .fail(let failure, let isRefusal) = talk.answer(
        "response", "error=access_denied&state=\(state)")
    else {
      Issue.record("the sign-in went on")
      return
    }
    expect(failure.reason, equals: "AccessDenied")
    expect(isRefusal)
    expect(talk.conversation.challenge == nil)
  }

  /// Mix-up: the answer names another provider.
  @Test func anotherProvidersAnswerNeverReachesTheTokenEndpoint() throws {
    var talk = Talk.browser()
    let (state, _) = try talk.browse()
    guard
      case .fail = talk.answer("response", "code=c&state=\(state)&iss=https%3A%2F%2Fevil.example")
    else {
      Issue.record("the code was exchanged")
      return
    }
  }

  @Test func otherAnswersDoNotFit() throws {
    var talk = Talk.browser()
    let (state, _) = try talk.browse()
    for (name, value) in [("code", "1"), ("confirm", "true")] {
      guard case .refuse = talk.answer(name, value) else {
        Issue.record("\(name) was taken")
        continue
      }
    }
    guard case .refuse = talk.handle(.answered(ChallengeAnswers([]))) else {
      Issue.record("nothing was taken for an answer")
      return
    }
    expect(talk.conversation.challenge != nil)
    _ = state
  }

  @Test func anEndpointThatCannotBeUsedFailsByName() throws {
    let changes: [(String, String?)] = [
      ("authorization_endpoint", #""https://a/?state=mine""#),
      ("authorization_endpoint", "\"https://a/?p=\(String(repeating: "x", count: 8000))\""),
    ]
    for change in changes {
      var talk = Talk.browser()
      _ = talk.handle(.started)
      let action = talk.handle(.prepared(try OIDCSamples.provider([change]), challenge: "c"))
      guard case .fail(let failure, false) = action else {
        Issue.record("\(action)")
        continue
      }
      expect(failure.message.contains("authorization_endpoint"))
    }
  }

  @Test func aLostReplyToACodeEndsTheSignIn() throws {
    for kind in [TransportFailure.timeout, .reset] {
      var talk = Talk.browser()
      let (state, _) = try talk.browse()
      _ = talk.answer("response", "code=c&state=\(state)")
      let lost = UpstreamFailure.transport(kind, from: .backend("okta"))
      guard case .fail(let failure, let isRefusal) = talk.handle(.failed(lost)) else {
        Issue.record("the sign-in went on")
        return
      }
      expect(failure.reason, equals: "OutcomeUnknown")
      expect(!isRefusal)
    }
  }

  // MARK: Whose account

  @Test func anotherPersonsAccountIsRefused() throws {
    let required = RequiredClaims([(name: "email", value: "alice@example.com")])
    var talk = Talk.browser(required: required)
    let (state, _) = try talk.browse()
    _ = talk.answer("response", "code=c&state=\(state)")
    let bob = try Self.tokens([("email", #""bob@example.com""#)])
    guard
      case .fail(let failure, true) = talk.handle(
        .exchanged(.init(bob), serverTime: nil, present: .init()))
    else {
      Issue.record("bob's account was taken")
      return
    }
    expect(failure.code, equals: .signInFailed)
    expect(failure.message.contains("alice@example.com"))
  }

  @Test func aSessionOfAnotherPersonIsReplacedOnlyAfterAWord() throws {
    let issuer = OIDCSamples.issuerText
    typealias User = ProviderConversation.Present.User
    let others = [
      User(issuer: issuer, subject: "user-9", shown: "carol"),
      User(issuer: "https://other.example/", subject: "user-1", shown: "alice"),
      User(issuer: nil, subject: nil, shown: "by password"),
    ]
    for other in others {
      var talk = Talk.browser()
      let (state, _) = try talk.browse()
      _ = talk.answer("response", "code=c&state=\(state)")
      let tokens = try Self.tokens()
      let action = talk.handle(
        .exchanged(.init(tokens), serverTime: nil, present: .init(user: other)))
      guard case .ask(let challenge) = action else {
        Issue.record("\(other.shown) was replaced without a word")
        continue
      }
      expect(
        challenge.step,
        equals: .confirm(
          issuer: issuer, subject: "user-1", username: "alice", replaces: other.shown,
          linksTo: nil))
      for word in ["false", "yes", "TRUE", ""] {
        guard case .refuse = talk.answer("confirm", word) else {
          Issue.record("\(word) was taken for a confirmation")
          continue
        }
      }
      expect(talk.conversation.challenge, equals: challenge)
      expect(finished(talk.answer("confirm", "true"))?.tokens, equals: tokens)
    }
  }

  @Test func theSamePersonIsNotAsked() throws {
    let same = ProviderConversation.Present.User(
      issuer: OIDCSamples.issuerText, subject: "user-1", shown: "alice")
    for present in [ProviderConversation.Present(), .init(user: same)] {
      var talk = Talk.browser()
      let (state, _) = try talk.browse()
      _ = talk.answer("response", "code=c&state=\(state)")
      let action = talk.handle(
        .exchanged(.init(try Self.tokens()), serverTime: nil, present: present))
      expect(finished(action) != nil)
    }
  }

  @Test func linkingWantsAWordEvenOfTheSamePerson() throws {
    var talk = Talk.browser()
    let (state, _) = try talk.browse()
    _ = talk.answer("response", "code=c&state=\(state)")
    let action = talk.handle(
      .exchanged(
        .init(try Self.tokens()), serverTime: nil, present: .init(linksTo: Samples.identityText)))
    guard case .ask(let challenge) = action,
      case .confirm(_, _, _, nil, Samples.identityText?) = challenge.step
    else {
      Issue.record("linked without a word: \(action)")
      return
    }
  }

  // MARK: Device code

  private static let grantReply = Samples.reply(
    200,
    #"{"device_code":"d-1","user_code":"WDJB-MJHT","verification_uri":"https://a.example/","#
      + #""expires_in":600,"interval":5}"#)

  private func device() throws -> (talk: Talk, grant: DeviceGrant) {
    var talk = Talk(.device(scopes: ["openid"]))
    expect(talk.handle(.started), equals: .send(.startDeviceGrant(scopes: ["openid"])))
    let grant = try OIDCSamples.client().deviceGrant(from: Self.grantReply)
    guard
      case .ask(let challenge) = talk.handle(.deviceGranted(grant, at: try OIDCSamples.provider()))
    else { throw Talk.Stray() }
    expect(
      challenge.step,
      equals: .device(
        userCode: "WDJB-MJHT", url: "https://a.example/", completeURL: nil,
        interval: .seconds(5)))
    return (talk, grant)
  }

  @Test func aDeviceCodeIsPolledAtItsPace() throws {
    let begun = try device()
    var talk = begun.talk
    let grant = begun.grant
    let provider = try OIDCSamples.provider()
    let start = talk.now
    expect(talk.conversation.nextPoll, equals: start + .seconds(5))
    expect(talk.conversation.deadline, equals: start + .seconds(600))
    talk.now = start + .seconds(5)
    expect(talk.handle(.pollDue), equals: .send(.poll(grant, at: provider)))
    // Never two at once.
    expect(talk.conversation.nextPoll == nil)
    expect(talk.handle(.pollDue), equals: .wait)
    expect(
      talk.handle(.deviceAnswered(.slowDown(retryAfter: nil), serverTime: nil, present: .init())),
      equals: .wait)
    expect(talk.conversation.nextPoll, equals: start + .seconds(15))
    talk.now = start + .seconds(15)
    _ = talk.handle(.pollDue)
    let lost = UpstreamFailure.transport(.timeout, from: .backend("okta"))
    expect(talk.handle(.failed(lost)), equals: .wait)
    expect(talk.conversation.nextPoll, equals: start + .seconds(30))
    _ = talk.handle(.pollDue)
    let tokens = try Self.tokens()
    let action = talk.handle(
      .deviceAnswered(.tokens(.init(tokens)), serverTime: nil, present: .init()))
    expect(finished(action)?.tokens, equals: tokens)
    expect(talk.conversation.nextPoll == nil)
  }

  @Test func aRefusedDeviceCodeEndsTheSignIn() throws {
    var (talk, _) = try device()
    _ = talk.handle(.pollDue)
    let refused = OIDCSamples.error("access_denied")
    let answer = try OIDCSamples.client().deviceAnswer(from: refused, wallTime: OIDCSamples.now)
    guard
      case .fail(_, isRefusal: true) = talk.handle(
        .deviceAnswered(answer, serverTime: nil, present: .init()))
    else {
      Issue.record("the sign-in went on")
      return
    }
  }

  /// A code that somebody else began and talked the user into typing.
  @Test func aDeviceCodeOfAnotherPersonIsSeenBeforeAnythingIsKept() throws {
    var (talk, _) = try device()
    _ = talk.handle(.pollDue)
    let other = ProviderConversation.Present.User(
      issuer: OIDCSamples.issuerText, subject: "user-9", shown: "carol")
    let action = talk.handle(
      .deviceAnswered(
        .tokens(.init(try Self.tokens())), serverTime: nil, present: .init(user: other)))
    guard case .ask(let challenge) = action, case .confirm = challenge.step else {
      Issue.record("carol was replaced without a word")
      return
    }
  }

  @Test func nothingOfADeviceCodeIsAnswered() throws {
    var (talk, _) = try device()
    expect(talk.handle(.answered(ChallengeAnswers([]))), equals: .wait)
    guard case .refuse = talk.answer("code", "WDJB-MJHT") else {
      Issue.record("an answer was taken")
      return
    }
  }

  // MARK: User pools

  @Test func theTokensOfAHostedUIAreThoseOfItsPool() throws {
    let pool = try UserPoolID("eu-west-1_AbCdEf123")
    let client = try UserPoolClient(
      backend: "staff", host: AWSHost(.cognitoUserPools, region: "eu-west-1"), pool: pool,
      id: "client1", secret: nil)
    let claims: [(String, String?)] = [
      ("iss", "\"\(pool.issuer)\""), ("cognito:username", #""u-1""#), ("token_use", #""id""#),
      ("aud", #""client1""#),
    ]
    var access = claims
    access += [
      ("token_use", #""access""#), ("aud", nil), ("client_id", #""client1""#),
      ("username", #""u-1""#), ("scope", #""openid aws.cognito.signin.user.admin""#),
    ]
    var endpoints = ProviderEndpoints()
    endpoints.authorization = try HTTPURL("https://a.example/oauth2/authorize")
    endpoints.token = try HTTPURL("https://a.example/oauth2/token")
    let provider = try #require(
      ProviderMetadata(OIDCIssuer(pool.issuer), configured: endpoints))
    let oidc = try OIDCClient(
      backend: "staff", provider: provider, id: "client1", authentication: .none)
    let accessText = OIDCSamples.token(access).exposedText() ?? ""
    let idText = OIDCSamples.token(claims).exposedText() ?? ""
    let reply = Samples.reply(
      200,
      #"{"id_token":"\#(idText)","access_token":"\#(accessText)","refresh_token":"r","#
        + #""token_type":"Bearer","expires_in":3600}"#)
    let tokens = try oidc.renewal(from: reply, of: "user-1", wallTime: OIDCSamples.now).tokens.get()
    let signIn = try AcceptedSignIn(
      ProviderSignIn(
        tokens: tokens, provider: provider, clientID: "client1", serverTime: OIDCSamples.now,
        received: .seconds(5)), of: client)
    expect(signIn.username, equals: "u-1")
    expect(signIn.issuer, equals: client.issuer)
    expect(signIn.tokens.refresh, equals: Secret("r"))
    expect(ProviderToken.mayChangeAccount(signIn.tokens.access.token))
    expect(signIn.tokens.id.subject, equals: "user-1")
    let other = try UserPoolClient(
      backend: "staff", host: AWSHost(.cognitoUserPools, region: "eu-west-1"),
      pool: UserPoolID("eu-west-1_Other"), id: "client1", secret: nil)
    #expect(throws: InvalidInput.self) { try ProviderTokens(tokens, of: other) }
  }
}
