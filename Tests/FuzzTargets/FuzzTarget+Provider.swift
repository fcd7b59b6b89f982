import CredCore

/// Replies of an OpenID Connect provider, and what a browser brings from one.
extension FuzzTarget {
  static let issuer = "https://login.example.com/"
  static let authorizationState = "k7Qd-s~tate_0123456789"

  private static var issuerURL: OIDCIssuer? { try? OIDCIssuer(issuer) }

  /// Of the session's first ID token.
  private static var firstNonce: Fingerprint? { Fingerprint(ofNonce: "n-1") }

  /// A provider that names itself in each response.
  private static var knownProvider: ProviderMetadata? {
    let document =
      #"{"issuer":"\#(issuer)","authorization_endpoint":"\#(issuer)authorize","#
      + #""token_endpoint":"\#(issuer)token","device_authorization_endpoint":"\#(issuer)device","#
      + #""authorization_response_iss_parameter_supported":true}"#
    guard let url = issuerURL else { return nil }
    return try? ProviderMetadata(
      from: HTTPReply(status: 200, body: Secret(document)), of: url,
      configured: ProviderEndpoints(), for: "okta")
  }

  func judgeProviderReply(_ bytes: [UInt8]) -> Verdict {
    let reply = reply(bytes)
    let second = SecondReply(reply)
    guard let provider = Self.knownProvider, let issuer = Self.issuerURL,
      let client = try? OIDCClient(
        backend: "okta", provider: provider, id: "client-1", authentication: .none,
        trustedAudiences: ["project-1"])
    else { return .fault("the client cannot be made") }
    let now = WallTime(milliseconds: 1_700_000_000_000)
    return .all([
      judgeDocument(reply, second, issuer),
      judgeRead("a renewal", second, SecondProvider.refreshToken) { () throws(UpstreamFailure) in
        let renewal = try client.renewal(from: reply, of: "alice", wallTime: now)
        return [renewal.refresh?.exposedText()]
      },
      judgeIDToken(reply, second, client, now),
      judgeRead("a device code", second, SecondProvider.device) { () throws(UpstreamFailure) in
        let grant = try client.deviceGrant(from: reply)
        return [
          grant.deviceCode.exposedText(), grant.userCode, grant.url, grant.completeURL,
        ]
      },
      judgeAnswer(client.deviceAnswer(from: reply, wallTime: now), second),
    ])
  }

  /// The issuer of a document that does not fit is shown: it is no secret.
  private func judgeDocument(
    _ reply: HTTPReply, _ second: SecondReply, _ issuer: OIDCIssuer
  ) -> Verdict {
    do throws(UpstreamFailure) {
      let read = try ProviderMetadata(
        from: reply, of: issuer, configured: ProviderEndpoints(), for: "okta")
      guard let object = second.object else {
        return .check(
          second.json == .outOfRange, "a discovery document: read from what is no object")
      }
      let value: [String?] = [
        read.issuer.description, read.authorization?.text, read.token.text,
        read.deviceAuthorization?.text, read.revocation?.text, read.endSession?.text,
      ]
      return .of("a discovery document", value, SecondProvider.document(object))
    } catch {
      return Self.judgeText(error.message)
    }
  }

  /// An ID token that is taken is for this client and user, and has not ended.
  private func judgeIDToken(
    _ reply: HTTPReply, _ second: SecondReply, _ client: OIDCClient, _ now: WallTime
  ) -> Verdict {
    let renewal: OIDCTokenReply
    do throws(UpstreamFailure) {
      renewal = try client.renewal(
        from: reply, of: "alice", nonce: Self.firstNonce, wallTime: now)
    } catch {
      return judge(error, second)
    }
    switch renewal.tokens {
    case .failure(let failure): return judge(failure, second)
    case .success(let tokens):
      let isRead = SecondProvider.isOfSession(tokens.id.token.bytes, now: second.date ?? now)
      return isRead ? .accepted : .fault("an ID token of somebody else is taken")
    }
  }

  private func judgeAnswer(_ answer: DeviceAnswer, _ second: SecondReply) -> Verdict {
    switch answer {
    case .pending: .refused
    case .slowDown(let retryAfter):
      .check(
        retryAfter == nil || retryAfter == second.retryAfter || second.json == .outOfRange,
        "waits \(String(describing: retryAfter)), not \(String(describing: second.retryAfter))")
    case .tokens(let reply):
      if case .failure(let failure) = reply.tokens { judge(failure, second) } else { .refused }
    case .ended(let failure): judge(failure, second)
    }
  }

  // MARK: The browser

  func judgeAuthorizationResponse(_ bytes: [UInt8]) -> Verdict {
    guard let provider = Self.knownProvider else { return .fault("the provider cannot be made") }
    let read = AuthorizationResponse.judge(
      Secret(bytes), state: Secret(Self.authorizationState), from: provider, for: "okta")
    switch (read, SecondResponse.judge(bytes)) {
    case (.foreign(let reason), .foreign): return Self.judgeText(reason, of: bytes)
    case (.failed(let failure), .failed): return Self.judgeText(failure.message, of: bytes)
    case (.code(let code), .code(let second)):
      return code.bytes == second ? .accepted : .fault("another code")
    case (let read, let second):
      return .fault("read as \(read), by the second reading as \(second)")
    }
  }

  /// What is said of a response stands in one line, and does not hold the state, unless the response
  /// has it in another parameter, such as an issuer's name, which is quoted.
  private static func judgeText(_ text: String, of response: [UInt8] = []) -> Verdict {
    let decoded = SecondPercent.decode(response) ?? []
    let states = String(decoding: decoded, as: UTF8.self).ranges(of: authorizationState).count
    let isPlain = text.unicodeScalars.allSatisfy {
      $0.properties.generalCategory != .control && $0.properties.generalCategory != .format
    }
    return .all([
      .check(isPlain, "a message in several lines: \(text)"),
      .check(text.count < 900, "a message without end: \(text)"),
      .check(
        states > 1 || !text.contains(authorizationState), "a message with the state: \(text)"),
    ])
  }
}

/// The second reading of what a provider says.
private enum SecondProvider {
  static func document(_ object: SecondJSON) -> [String?] {
    [
      "issuer", "authorization_endpoint", "token_endpoint", "device_authorization_endpoint",
      "revocation_endpoint", "end_session_endpoint",
    ].map { object[$0]?.text }
  }

  static func refreshToken(_ object: SecondJSON) -> [String?] {
    [object["refresh_token"]?.fullText]
  }

  static func device(_ object: SecondJSON) -> [String?] {
    [
      object["device_code"]?.text, object["user_code"]?.text,
      (object["verification_uri"] ?? object["verification_url"])?.text,
      object["verification_uri_complete"]?.text,
    ]
  }

  /// OpenID Connect Core 1.0, 3.1.3.7 and 12.2, for the user alice.
  static func isOfSession(_ token: [UInt8], now: WallTime) -> Bool {
    let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let header = object(parts[0]), let claims = object(parts[1]),
      let algorithm = header["alg"]?.text, algorithm.lowercased() != "none",
      claims["iss"]?.text == FuzzTarget.issuer, claims["sub"]?.text == "alice",
      case .number(let end)? = claims["exp"], end * 1000 > Double(now.milliseconds)
    else { return false }
    switch claims["aud"] {
    case .string("client-1")?: break
    case .array(let all)?:
      let names = all.map { $0.text ?? "" }
      guard names.contains("client-1"),
        names.allSatisfy({ ["client-1", "project-1"].contains($0) })
      else { return false }
      if names.contains("project-1"), claims["azp"]?.text != "client-1" { return false }
    default: return false
    }
    switch claims["nonce"] {
    case nil, .null?, .string("n-1")?: break
    default: return false
    }
    switch claims["azp"] {
    case nil, .null?, .string("client-1")?: return true
    default: return false
    }
  }

  private static func object(_ part: some Sequence<UInt8>) -> SecondJSON? {
    SecondBase64.decode(Array(part), last: "-_").flatMap { SecondJSONReading($0).value }
  }
}

/// The second reading of a browser's response, on text.
private enum SecondResponse: Equatable {
  case foreign
  case failed
  case code([UInt8])

  static func judge(_ bytes: [UInt8]) -> SecondResponse {
    guard bytes.count <= 16_384, bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      return .foreign
    }
    let parts = String(decoding: bytes, as: UTF8.self).split(separator: "&")
    guard parts.count <= 64 else { return .foreign }
    var values: [String: [[UInt8]]] = [:]
    for part in parts {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = SecondPercent.decode(pair[0].utf8),
        let value = SecondPercent.decode((pair.count > 1 ? pair[1] : "").utf8)
      else { return .foreign }
      values[String(decoding: name, as: UTF8.self), default: []].append(value)
    }
    guard values["state"] == [Array(FuzzTarget.authorizationState.utf8)] else { return .foreign }
    guard values["iss"] == [Array(FuzzTarget.issuer.utf8)], values["error"] == nil,
      let codes = values["code"], codes.count == 1, (1...8192).contains(codes[0].count),
      codes[0].allSatisfy({ $0 >= 0x20 && $0 < 0x7F })
    else { return .failed }
    return .code(codes[0])
  }
}
