import TestSupport
import Testing

@testable import CredCore

struct OIDCRequestTests {
  private static let secrets = OIDCSamples.secrets()

  @Test func aPublicClientNamesItself() throws {
    let request = try OIDCSamples.client().exchange(
      code: Secret("c/1+"), redirectURI: "http://127.0.0.1:1/okta", Self.secrets)
    expect(request.method, equals: .post)
    expect(request.url, equals: "https://login.example.com/token")
    expect(request.authorization == nil)
    expect(
      request.form,
      equals: [
        "grant_type": "authorization_code", "code": "c/1+", "client_id": "client-1",
        "redirect_uri": "http://127.0.0.1:1/okta",
        "code_verifier": Self.secrets.verifier.exposedText() ?? "",
      ])
  }

  @Test func aSecretGoesByTheWayThatIsConfigured() throws {
    let secret = Secret("s3cret/+% :")
    let basic = try OIDCSamples.client(.basic(secret)).renew(refreshToken: Secret("r"))
    // printf 'client-1:s3cret%%2F%%2B%%25%%20%%3A' | base64
    expect(basic.authorization, equals: "Basic Y2xpZW50LTE6czNjcmV0JTJGJTJCJTI1JTIwJTNB")
    expect(basic.form, equals: ["grant_type": "refresh_token", "refresh_token": "r"])
    let post = try OIDCSamples.client(.post(secret)).renew(refreshToken: Secret("r"))
    expect(post.authorization == nil)
    expect(post.form["client_secret"], equals: "s3cret/+% :")
    expect(post.form["client_id"], equals: "client-1")
    // Known to many servers that do not decode.
    let plain = try OIDCSamples.client(.basic(Secret("aA0_.~-"))).renew(refreshToken: Secret("r"))
    // printf 'client-1:aA0_.~-' | base64
    expect(plain.authorization, equals: "Basic Y2xpZW50LTE6YUEwXy5+LQ==")
    for wrong in ["", "a\nb"] {
      #expect(throws: InvalidInput.self) { try OIDCSamples.client(.post(Secret(wrong))) }
    }
  }

  @Test func anAssertionSaysWhoWhereAndUntilWhen() throws {
    var generator = SystemRandomNumberGenerator()
    let assertion = try ClientAssertion(
      clientID: "client-1", keyID: "k1", audience: "https://login.example.com/token",
      identifier: AssertionIdentifier(using: &generator), at: OIDCSamples.now, key: Secret("key"),
      signing: Signing())
    let header = JWT.header(of: assertion.token)
    expect(header?["alg"]?.text, equals: "ES256")
    expect(header?["kid"]?.text, equals: "k1")
    let claims = JWT.claims(of: assertion.token)
    expect(claims?["iss"]?.text, equals: "client-1")
    expect(claims?["sub"]?.text, equals: "client-1")
    expect(claims?["aud"]?.text, equals: "https://login.example.com/token")
    expect(claims?["jti"]?.text?.utf8.count, equals: 22)
    expect(claims?["iat"]?.integer, equals: 1_800_000_000)
    expect((1...300).contains((claims?["exp"]?.integer ?? 0) - 1_800_000_000))
    let parts = assertion.token.bytes.split(separator: UInt8(ascii: "."))
    let signed = Base64.decode(parts[2], .url)
    expect(signed, equals: Array("key|".utf8) + parts[0] + [UInt8(ascii: ".")] + parts[1])
    let request = try OIDCSamples.client(.privateKeyJWT(assertion)).renew(refreshToken: Secret("r"))
    expect(request.form["client_assertion"], equals: assertion.token.exposedText())
    expect(
      request.form["client_assertion_type"],
      equals: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
    expect(request.form["client_secret"] == nil)
    #expect(throws: InvalidInput.self) {
      try ClientAssertion(
        clientID: "c", keyID: nil, audience: "a",
        identifier: AssertionIdentifier(using: &generator), at: OIDCSamples.now,
        key: Secret("no key"), signing: Signing())
    }
  }

  private struct Signing: AssertionSigning {
    func algorithm(ofKey pem: Secret) -> SigningAlgorithm? {
      pem == Secret("key") ? .es256 : nil
    }

    func signature(
      of message: [UInt8], key pem: Secret, by algorithm: SigningAlgorithm
    ) -> [UInt8]? { pem.bytes + [UInt8(ascii: "|")] + message }
  }

  @Test func theEndOfASessionNamesNoTokenInAURL() throws {
    let client = try OIDCSamples.client()
    let revocation = try #require(client.revoke(refreshToken: Secret("r")))
    expect(revocation.url, equals: "https://login.example.com/revoke")
    expect(
      revocation.form,
      equals: [
        "token": "r", "token_type_hint": "refresh_token", "client_id": "client-1",
      ])
    expect(
      try OIDCSamples.client(.none, [("revocation_endpoint", nil)])
        .revoke(refreshToken: Secret("r")) == nil)
    expect(
      client.provider.logoutURL(
        clientID: "c 1", redirectURI: "http://localhost:1/",
        [AuthorizationParameter(name: "federated", value: "")]),
      equals: "https://login.example.com/logout?client_id=c%201"
        + "&post_logout_redirect_uri=http%3A%2F%2Flocalhost%3A1%2F&federated=")
    expect(
      client.provider.logoutURL(clientID: "c", redirectURI: "u", as: "logout_uri"),
      equals: "https://login.example.com/logout?client_id=c&logout_uri=u")
    expect(
      try OIDCSamples.provider([("end_session_endpoint", nil)])
        .logoutURL(clientID: "c", redirectURI: nil) == nil)
  }
}

struct OIDCTokenTests {
  private static let secrets = OIDCSamples.secrets()

  private static var nonce: (String, String?) {
    ("nonce", "\"\(secrets.nonce.exposedText() ?? "")\"")
  }

  private func signIn(
    _ changed: [(String, String?)] = [], header: String = #"{"alg":"RS256"}"#,
    trusting audiences: [String] = []
  ) throws -> OIDCTokens {
    let token = OIDCSamples.token([Self.nonce] + changed, header: header)
    return try OIDCSamples.client(trusting: audiences).tokens(
      from: OIDCSamples.tokens(id: token), Self.secrets, wallTime: OIDCSamples.now
    ).tokens.get()
  }

  /// What goes to Cognito is verified there. Nobody else on this host looks at what programs get.
  @Test(
    arguments: [
      (#"{"alg":"HS256"}"#, "", "HS256"), (#"{"alg":"XY1"}"#, "", "XY1"),
      (#"{"alg":"RS256","crit":["b64"]}"#, "", "(crit)"),
      (#"{"alg":"RS256","crit":[]}"#, "", "(crit)"),
      (#"{"alg":"RS256"}"#, "1800000301", "(nbf)"),
    ])
  func aTokenForProgramsIsLookedAtAsAReceiverWould(
    _ header: String, _ notBefore: String, _ word: String
  ) throws {
    let more = notBefore.isEmpty ? [] : [("nbf", String?.some(notBefore))]
    expect(try signIn(more, header: header).id.subject, equals: "user-1")
    expect(
      try vendingProblem(OIDCSamples.token([Self.nonce] + more, header: header))?.contains(word)
        == true)
  }

  @Test func aTokenForProgramsMustBeSigned() throws {
    let token = OIDCSamples.token([Self.nonce]).exposedText() ?? ""
    expect(try vendingProblem(Secret(token)) == nil)
    let unsigned = Secret(String(token.prefix(through: token.lastIndex(of: ".") ?? token.endIndex)))
    expect(try vendingProblem(unsigned)?.contains("has no signature") == true)
  }

  /// Clocks differ a little.
  @Test func aTokenForProgramsMayBeginInAMoment() throws {
    expect(try vendingProblem(OIDCSamples.token([Self.nonce, ("nbf", "1800000300")])) == nil)
    expect(try vendingProblem(OIDCSamples.token([Self.nonce, ("nbf", "1799990000")])) == nil)
  }

  /// Why a profile that vends ID tokens does not take one; nil if it does.
  private func vendingProblem(_ token: Secret) throws -> String? {
    let reply = try OIDCSamples.client(vendsIDTokens: true).tokens(
      from: OIDCSamples.tokens(id: token), Self.secrets, wallTime: OIDCSamples.now)
    if case .failure(let failure) = reply.tokens { return failure.message }
    return nil
  }

  @Test func anEmptyRefreshTokenIsNone() throws {
    let reply = try OIDCSamples.client().tokens(
      from: OIDCSamples.tokens(id: OIDCSamples.token([Self.nonce]), refresh: ""), Self.secrets,
      wallTime: OIDCSamples.now)
    expect(reply.refresh == nil)
    expect(try reply.tokens.get().refresh == nil)
  }

  @Test(
    arguments: [
      (#""""#, "id_token is empty"), ("17", "id_token is no text"),
      (#""a\u0007b""#, "id_token has a character that is not printable ASCII"),
      ("\"\(String(repeating: "a", count: 50_001))\"", "id_token is longer than 50000 bytes"),
    ])
  func whatIsWrongWithATokenIsSaid(_ token: String, _ words: String) throws {
    let reply = Samples.reply(200, #"{"access_token":"a","id_token":\#(token)}"#)
    let client = try OIDCSamples.client()
    do throws(UpstreamFailure) {
      _ = try client.tokens(from: reply, Self.secrets, wallTime: OIDCSamples.now)
      expect(Bool(false), "taken")
    } catch {
      expect(error.message.contains(words), "\(error.message)")
    }
  }

  @Test func theTokensOfASignInAreRead() throws {
    let tokens = try signIn()
    expect(tokens.id.subject, equals: "user-1")
    expect(tokens.id.username, equals: "alice")
    expect(tokens.id.signedIn, equals: WallTime(secondsSince1970: 1_799_999_990))
    expect(tokens.id.lifetime(at: OIDCSamples.now + .seconds(600)), equals: .seconds(3000))
    expect(tokens.id.lifetime(at: nil), equals: .seconds(3600))
    expect(!tokens.id.needsOtherAlgorithm)
    expect(tokens.access, equals: Secret("access-1"))
    expect(tokens.accessLifetime, equals: .seconds(3600))
    expect(tokens.refresh, equals: Secret("refresh-1"))
    expect(try signIn([], header: #"{"alg":"ES256"}"#).id.needsOtherAlgorithm)
  }

  @Test func theTypeIsComparedWithoutCase() throws {
    let token = OIDCSamples.token([Self.nonce])
    for type in ["bearer", "BEARER", "Bearer"] {
      #expect(throws: Never.self) {
        try OIDCSamples.client().tokens(
          from: OIDCSamples.tokens(id: token, type: type), Self.secrets, wallTime: OIDCSamples.now)
      }
    }
    #expect(throws: UpstreamFailure.self) {
      try OIDCSamples.client().tokens(
        from: OIDCSamples.tokens(id: token, type: "DPoP"), Self.secrets, wallTime: OIDCSamples.now)
    }
  }

  /// OpenID Connect Core 1.0, 3.1.3.7: each of its items.
  @Test func anIDTokenOfAnotherIsRefusedByName() throws {
    let wrong: [(name: String, value: String?, reason: String)] = [
      ("iss", #""https://login.example.com""#, "is from issuer \"https://login.example.com\""),
      ("iss", nil, "(iss)"), ("iss", "7", "(iss)"),
      ("aud", #""client-2""#, "check client_id"), ("aud", nil, "(aud)"), ("aud", "[]", "(aud)"),
      ("aud", #"["client-1","client-2"]"#, "is for \"client-2\" too"),
      ("aud", #"["client-1",7]"#, "(aud)"),
      ("azp", #""client-2""#, "(azp)"), ("azp", "7", "(azp)"),
      ("exp", "1800000000", "has expired already"), ("exp", "1799999999", "has expired already"),
      ("exp", nil, "(exp)"), ("exp", "\"1800003600\"", "(exp)"),
      ("iat", "1800000301", "is from the future"),
      ("nonce", nil, "(nonce)"), ("nonce", #""other""#, "(nonce)"), ("nonce", "7", "(nonce)"),
      ("sub", nil, "(sub)"), ("sub", #""""#, "(sub)"), ("sub", #""a\u0007""#, "(sub)"),
      ("sub", "\"\(String(repeating: "x", count: 256))\"", "(sub)"),
      ("token_use", #""access""#, "another use"),
    ]
    for (name, value, reason) in wrong {
      let failure = #expect(throws: UpstreamFailure.self) { try signIn([(name, value)]) }
      expect(failure?.message.contains(reason) == true, "\(name): \(failure?.message ?? "")")
      expect(failure?.code, equals: .tokenRejected)
      expect(failure?.failureClass, equals: .signInFailed)
    }
    for header in ["{}", #"{"alg":"none"}"#, #"{"alg":"NONE"}"#, #"{"alg":7}"#] {
      #expect(throws: UpstreamFailure.self) { try signIn([], header: header) }
    }
  }

  @Test func whatIsNoJWTIsRefused() throws {
    for token in ["x", "a.b.c", "e30.e30", "e30.W10.x", String(repeating: "x", count: 50_001)] {
      #expect(throws: UpstreamFailure.self) {
        try OIDCSamples.client().tokens(
          from: OIDCSamples.tokens(id: Secret(token)), Self.secrets, wallTime: OIDCSamples.now
        ).tokens.get()
      }
    }
  }

  @Test func anAudienceMayBeAListAndATokenAFewMinutesYoung() throws {
    #expect(throws: Never.self) {
      try signIn([("aud", #"["client-1"]"#), ("azp", #""client-1""#), ("iat", "1800000299")])
    }
    #expect(throws: Never.self) { try signIn([("iat", nil), ("auth_time", nil)]) }
  }

  @Test func aFurtherAudienceIsTakenWhereItIsTrustedByName() throws {
    let several = ("aud", Optional(#"["project-1","client-1"]"#))
    let party = ("azp", Optional(#""client-1""#))
    #expect(throws: Never.self) { try signIn([several, party], trusting: ["project-1"]) }
    for trusted in [[], ["project-2"], ["Project-1", "project-"]] {
      let failure = #expect(throws: UpstreamFailure.self) {
        try signIn([several, party], trusting: trusted)
      }
      expect(
        failure?.message.contains(
          #"is for "project-1" too (aud): if the provider means it so, name it in trusted_audiences"#
        ) == true, "\(failure?.message ?? "")")
    }
    #expect(throws: UpstreamFailure.self) {
      try signIn([("aud", #"["project-1"]"#), party], trusting: ["project-1"])
    }
  }

  @Test func amongSeveralAudiencesTheTokenNamesItsClient() throws {
    let several = ("aud", Optional(#"["client-1","project-1"]"#))
    for party in [nil, "null", #""project-1""#, "7"] {
      let failure = #expect(throws: UpstreamFailure.self) {
        try signIn([several, ("azp", party)], trusting: ["project-1"])
      }
      expect(failure?.message.contains("(azp)") == true, "\(party ?? "none")")
    }
    #expect(throws: Never.self) {
      try signIn([("aud", #"["client-1","client-1"]"#)], trusting: ["project-1"])
    }
  }

  @Test func theProvidersOwnClockDecides() throws {
    let token = OIDCSamples.token([Self.nonce])
    var reply = OIDCSamples.tokens(id: token)
    reply.headers.append(.init(name: "Date", value: "Fri, 15 Jan 2027 09:30:00 GMT"))
    #expect(throws: UpstreamFailure.self) {
      try OIDCSamples.client().tokens(from: reply, Self.secrets, wallTime: OIDCSamples.now).tokens
        .get()
    }
    reply.headers = [.init(name: "Date", value: "Fri, 15 Jan 2027 08:30:00 GMT")]
    // This host's clock is a year ahead.
    #expect(throws: Never.self) {
      try OIDCSamples.client().tokens(
        from: reply, Self.secrets, wallTime: OIDCSamples.now + .seconds(31_536_000)
      ).tokens.get()
    }
  }

  @Test func withoutOpenIDThereIsNoIDToken() throws {
    let failure = #expect(throws: UpstreamFailure.self) {
      try OIDCSamples.client().tokens(
        from: OIDCSamples.tokens(id: nil), Self.secrets, wallTime: OIDCSamples.now
      ).tokens.get()
    }
    expect(failure?.message.contains("openid") == true)
    expect(failure?.failureClass, equals: .permanentConfiguration)
  }

  // MARK: Renewal (OpenID Connect Core 1.0, 12.2)

  private func renewal(
    _ changed: [(String, String?)] = [], hasID: Bool = true, refresh: String? = "refresh-2",
    after first: IDToken? = nil
  ) throws -> OIDCTokenReply {
    let token = hasID ? OIDCSamples.token(changed) : nil
    return try OIDCSamples.client().renewal(
      from: OIDCSamples.tokens(id: token, refresh: refresh), of: "user-1", nonce: first?.nonce,
      wallTime: OIDCSamples.now)
  }

  @Test func aRenewalNeedsNoNonce() throws {
    expect(try renewal().tokens.get().refresh, equals: Secret("refresh-2"))
    expect(try renewal([("nonce", #""first""#)]).tokens.get().id.subject, equals: "user-1")
    expect(try renewal(refresh: nil).refresh == nil)
  }

  @Test func aRenewedTokenMayRepeatTheNonceAndNameNoOther() throws {
    let first = try signIn().id
    expect(first.nonce != nil)
    for same in [Self.nonce, ("nonce", nil), ("nonce", "null")] {
      let renewed = try renewal([same], after: first)
      expect(try renewed.tokens.get().id.subject, equals: "user-1")
    }
    for other in [#""other""#, #""""#, "7"] {
      let renewed = try renewal([("nonce", other)], after: first)
      let failure = #expect(throws: UpstreamFailure.self) { try renewed.tokens.get() }
      expect(
        failure?.message.contains("belongs to another sign-in than the session that was renewed")
          == true)
      // The user is the same one: the session may have better luck with its next token.
      expect(failure?.failureClass, equals: .permanentConfiguration)
      expect(renewed.refresh, equals: Secret("refresh-2"))
    }
    expect(try signIn([("nonce", Self.nonce.1)]).id.nonce, equals: first.nonce)
  }

  /// The former refresh token may be dead: the new one is kept, whatever is wrong beside it.
  @Test func aNewRefreshTokenIsKeptWhateverElseIsWrong() throws {
    for renewal in [
      try renewal([("sub", #""user-2""#)]), try renewal([("iss", #""https://evil/""#)]),
      try renewal([("aud", #""client-2""#)]), try renewal(hasID: false),
    ] {
      expect(renewal.refresh, equals: Secret("refresh-2"))
      #expect(throws: UpstreamFailure.self) { try renewal.tokens.get() }
    }
  }

  @Test func anotherSubjectIsAnotherPerson() throws {
    let failure = #expect(throws: UpstreamFailure.self) {
      try renewal([("sub", #""user-2""#)]).tokens.get()
    }
    expect(failure?.failureClass, equals: .signInRequired)
    expect(failure?.message.contains("another user's") == true)
  }

  @Test func aRenewalWithoutAnIDTokenIsNamed() throws {
    let failure = #expect(throws: UpstreamFailure.self) {
      try renewal(hasID: false).tokens.get()
    }
    expect(failure?.reason, equals: "NoIdToken")
    expect(failure?.failureClass, equals: .signInRequired)
    expect(failure?.message.contains("gives no ID token") == true)
  }

  @Test func aTokenThatIsWrongOtherwiseEndsNoSession() throws {
    let failure = #expect(throws: UpstreamFailure.self) {
      try renewal([("aud", #""client-2""#)]).tokens.get()
    }
    expect(failure?.failureClass, equals: .permanentConfiguration)
  }

  @Test func aReplySaysWhichScopesWereGiven() throws {
    let scope = #","scope":"openid email""#
    let reply = OIDCSamples.tokens(id: OIDCSamples.token([Self.nonce]), more: scope)
    let tokens = try OIDCSamples.client().tokens(
      from: reply, Self.secrets, wallTime: OIDCSamples.now
    ).tokens.get()
    expect(tokens.scopes, equals: ["openid", "email"])
    expect(try signIn().scopes == nil)
  }
}

struct RequiredClaimTests {
  private func problem(
    _ claims: [(name: String, value: String)], _ token: [(String, String?)]
  ) throws -> String? {
    let tokens = try OIDCSamples.client().renewal(
      from: OIDCSamples.tokens(id: OIDCSamples.token(token)), of: "user-1",
      wallTime: OIDCSamples.now)
    return RequiredClaims(claims).problem(in: try tokens.tokens.get().id)
  }

  @Test func aClaimTiesAUserToAnAccount() throws {
    let wanted = [(name: "email", value: "alice@example.com")]
    let verified = ("email_verified", Optional("true"))
    expect(try problem(wanted, [("email", #""alice@example.com""#), verified]) == nil)
    expect(try problem([], []) == nil)
    for email in [
      #""bob@example.com""#, #""Alice@example.com""#, #""alice@example.com ""#,
      #""alice@example.com.evil""#, #""""#, "null", "7", #"{"alice@example.com":1}"#,
      #"["bob@example.com"]"#,
    ] {
      let problem = try problem(wanted, [("email", email)])
      expect(problem, equals: #"its claim "email" is not "alice@example.com""#, "\(email)")
    }
    expect(try problem(wanted, []) != nil)
  }

  @Test func anUnverifiedAddressProvesNothing() throws {
    let wanted = [(name: "email", value: "a@b.c")]
    for unverified in ["false", #""false""#, "null", "1", #""TRUE""#, nil] {
      let token: [(String, String?)] = [("email", #""a@b.c""#), ("email_verified", unverified)]
      expect(try problem(wanted, token)?.contains("email_verified") == true)
    }
    expect(try problem(wanted, [("email", #""a@b.c""#), ("email_verified", "true")]) == nil)
  }

  @Test func aRenewedTokenMayLeaveClaimsOutAndSaysNothingElse() throws {
    func problem(_ token: [(String, String?)]) throws -> String? {
      let wanted = RequiredClaims([(name: "email", value: "a@b.c"), (name: "hd", value: "b.c")])
      let tokens = try OIDCSamples.client().renewal(
        from: OIDCSamples.tokens(id: OIDCSamples.token(token)), of: "user-1",
        wallTime: OIDCSamples.now)
      return wanted.problem(in: try tokens.tokens.get().id, isRenewed: true)
    }
    expect(try problem([]) == nil)
    expect(try problem([("email", #""a@b.c""#), ("hd", #""b.c""#)]) == nil)
    expect(try problem([("email", #""x@b.c""#)]) != nil)
    expect(try problem([("email", #""a@b.c""#), ("email_verified", "false")]) != nil)
    expect(try problem([("hd", "null")]) != nil)
  }

  @Test func allOfSeveralClaimsMustFit() throws {
    let wanted = [(name: "hd", value: "example.com"), (name: "groups", value: "staff")]
    expect(
      try problem(wanted, [("hd", #""example.com""#), ("groups", #"["ops","staff"]"#)]) == nil)
    expect(try problem(wanted, [("hd", #""example.com""#)])?.contains("groups") == true)
    expect(try problem([(name: "uid", value: "1000")], [("uid", "1000")]) == nil)
    expect(try problem([(name: "admin", value: "true")], [("admin", "true")]) == nil)
    expect(try problem([(name: "admin", value: "true")], [("admin", "false")]) != nil)
  }
}
