import CredCore

/// Replies. An input is the status, the headers, an empty line and the body, as HTTP has them.
extension FuzzTarget {
  func reply(_ bytes: [UInt8]) -> HTTPReply {
    var rest = bytes[...]
    func line() -> String? {
      guard let end = rest.firstIndex(of: 0x0A) else { return nil }
      defer { rest = rest[(end + 1)...] }
      return String(decoding: rest[..<end], as: UTF8.self)
    }
    let status = line().flatMap { Int($0) } ?? 200
    var headers: [HTTPReply.Header] = []
    while let text = line(), !text.isEmpty {
      let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      let value = parts.count == 2 ? String(parts[1].drop { $0 == " " }) : ""
      headers.append(.init(name: String(parts[0]), value: value))
    }
    return HTTPReply(status: status, headers: headers, body: Secret(Array(rest)))
  }

  /// Reads a reply, and holds the result or the failure against the second reading.
  private func judge(
    _ what: String, _ second: SecondReply, _ expected: [String?]?,
    _ read: () throws(UpstreamFailure) -> [String?]
  ) -> Verdict {
    do throws(UpstreamFailure) {
      let value = try read()
      return second.json == .outOfRange ? .accepted : .of(what, value, expected)
    } catch {
      guard expected == nil else { return .of(what, [String?]?.none, expected) }
      return judge(error, second)
    }
  }

  /// A failure is one line without a secret, and waits as long as the server says.
  func judge(_ failure: UpstreamFailure, _ second: SecondReply) -> Verdict {
    let message = failure.message
    let isPlain = message.unicodeScalars.allSatisfy {
      $0.properties.generalCategory != .control && $0.properties.generalCategory != .format
    }
    let isLess = failure.failureClass.retryAfter == nil && !failure.failureClass.isTransient
    return .all([
      .check(isPlain, "a failure in several lines: \(message)"),
      .check(message.count < 600, "a failure without end: \(message)"),
      .check(!Self.showsSecret(message), "a failure that may show a secret: \(message)"),
      .check(
        isLess || second.json == .outOfRange || failure.failureClass.retryAfter == nil
          || failure.failureClass.retryAfter == second.retryAfter,
        "waits \(failure.failureClass), not \(String(describing: second.retryAfter))"),
      .check(
        second.reply.status != 429 || failure.failureClass.retryAfter == second.retryAfter
          || !failure.failureClass.isTransient, "a Retry-After is lost"),
    ])
  }

  /// A run of 24 characters of tokens with a digit among them that is no UUID, or a JWT.
  private static func showsSecret(_ message: String) -> Bool {
    let alphabet = (SecondRules.letters + SecondRules.digits + "-_.+/=~%").utf8.map { $0 }
    return message.utf8.split { !alphabet.contains($0) }.contains { bytes in
      let run = String(decoding: bytes, as: UTF8.self)
      // A message is cut, perhaps within a UUID.
      let groups = run.split(separator: "-").map(\.count)
      let isUUID = groups.prefix(4) == [8, 4, 4, 4] && groups.dropFirst(4).allSatisfy { $0 <= 12 }
      let hasDigit = run.contains { SecondRules.digits.contains($0) }
      return run.count >= 24 && hasDigit && !isUUID || run.contains("eyJ")
    }
  }

  func judgeCognitoReply(_ bytes: [UInt8]) -> Verdict {
    let reply = reply(bytes)
    let second = SecondReply(reply)
    return .all([
      judge("GetId", second, second.identity) { () throws(UpstreamFailure) in
        [try CognitoIdentity.identity(from: reply).description]
      },
      judge("GetCredentialsForIdentity", second, second.credentials) {
        () throws(UpstreamFailure) in
        let read = try CognitoIdentity.credentials(from: reply)
        return [read.identity?.description] + Self.fields(read)
      },
      judge("GetOpenIdToken", second, second.token) { () throws(UpstreamFailure) in
        Self.fields(try CognitoIdentity.token(from: reply))
      },
      judge("GetOpenIdTokenForDeveloperIdentity", second, second.token) {
        () throws(UpstreamFailure) in
        Self.fields(try CognitoIdentity.developerToken(from: reply, backend: "corp"))
      },
    ])
  }

  private static func fields(_ reply: CredentialsReply) -> [String?] {
    let credentials = reply.credentials
    return [
      credentials.accessKeyID, credentials.secretAccessKey.exposedText(),
      credentials.sessionToken.exposedText(), "\(credentials.expiration)",
      reply.serverTime.map { "\($0)" },
    ]
  }

  private static func fields(_ reply: TokenReply) -> [String?] {
    [
      reply.identity.description, reply.token.token.exposedText(),
      reply.serverTime.map { "\($0)" },
    ]
  }

  func judgeSTSReply(_ bytes: [UInt8]) -> Verdict {
    let reply = reply(bytes)
    let second = SecondReply(reply)
    let isRead = reply.status == 200 && !second.isPage && reply.body.count <= 65_536
    let expected = isRead ? SecondXML(reply.body.bytes)?.credentials(date: second.date) : nil
    return judge("AssumeRoleWithWebIdentity", second, expected) { () throws(UpstreamFailure) in
      let read = try STS.credentials(from: reply)
      return Self.fields(read) + [read.credentials.accountID]
    }
  }
}

// MARK: Backends

extension FuzzTarget {
  static let identityPool = "us-east-1:11111111-2222-3333-4444-555555555555"

  private func query() throws(InvalidInput) -> TokenQuery {
    TokenQuery(
      pool: try IdentityPoolID(Self.identityPool), developerProvider: "login.example.app",
      userIdentifier: "alice")
  }

  func judgeBackendReply(_ bytes: [UInt8]) -> Verdict {
    guard let query = try? query() else { return .fault("no query") }
    let reply = reply(bytes)
    let second = SecondReply(reply)
    let backend = HTTPBackend(name: "corp")
    return .all([
      judge("token callback", second, second.callback(pool: Self.identityPool)) {
        () throws(UpstreamFailure) in
        Self.fields(try backend.token(from: reply, to: query))
      },
      judge("sign-in", second, second.session) { () throws(UpstreamFailure) in
        let session = try backend.session(from: reply)
        return [session.token.exposedText(), session.developerUserIdentifier]
      },
    ])
  }

  /// An input is the exit status, a newline and the output.
  func judgeOutput(_ bytes: [UInt8]) -> Verdict {
    guard let query = try? query() else { return .fault("no query") }
    let end = bytes.firstIndex(of: 0x0A) ?? 0
    let status = Int32(String(decoding: bytes[..<end], as: UTF8.self)) ?? 0
    let output = Array(bytes.dropFirst(end + 1))
    let second = SecondReply(body: output)
    let isWhole = status == 0 && output.count <= 65_536
    let outcome = ExecOutcome(
      ending: .exited(status), standardOutput: Secret(output), standardError: output)
    return .all([
      judge("command", second, isWhole ? second.callback(pool: Self.identityPool) : nil) {
        () throws(UpstreamFailure) in
        Self.fields(try ExecBackend(name: "script").token(from: outcome, to: query))
      },
      judgeProcessOutput(output, second), judgeKeyFile(output),
    ])
  }

  private func judgeProcessOutput(_ output: [UInt8], _ second: SecondReply) -> Verdict {
    // Foundation's value does not show whether the version was written as 1 or as 1.0.
    let text = String(decoding: output, as: UTF8.self).lowercased()
    if second.json == .outOfRange || text.contains("1.")
      || text.contains("e") && text.contains("1e")
      || text.contains("0e")
    {
      return .refused
    }
    let read = try? DeveloperCredentials(processOutput: Secret(output))
    return .of(
      "credential_process",
      read.map {
        [
          $0.signer.accessKeyID, $0.signer.secretAccessKey.exposedText(),
          $0.signer.sessionToken?.exposedText(), $0.expiration.map { "\($0)" },
        ]
      }, second.processOutput)
  }

  private func judgeKeyFile(_ output: [UInt8]) -> Verdict {
    let read = try? DeveloperCredentials(file: Secret(output), section: "default", path: "/file")
    return .of(
      "credentials_file",
      read.map {
        [
          $0.signer.accessKeyID, "\($0.signer.secretAccessKey.bytes)",
          $0.signer.sessionToken.map { "\($0.bytes)" },
        ]
      }, SecondKeyFile.keys(output, section: "default"))
  }
}

// MARK: The sample server

extension FuzzTarget {
  func judgeSampleReply(_ bytes: [UInt8]) -> Verdict {
    let hex = String(repeating: "0a", count: 16)
    guard let query = try? query(),
      let server = try? SampleServer(backend: "s", url: "https://h/"),
      let session = SampleSession(packed: Secret("\(hex):\(hex)")),
      let signIn = try? server.signIn(
        username: "alice", password: Secret("secret123"), uid: hex, digests: QuickCrypto())
    else { return .fault("no server") }
    let reply = reply(bytes)
    let outer = SecondReply(reply)
    let inner = SecondReply(
      body: plain(outer) ?? [], date: outer.header("Date"),
      limits: JSONLimits(allowsTrailingComma: true))
    let key = plain(outer).flatMap { _ in inner.object?["key"]?.text }
      .flatMap { SecondRules.isMade($0, of: "0123456789abcdefABCDEF", 32...32) ? [$0] : nil }
    return .all([
      judge(
        "/gettoken", inner.json == .outOfRange ? inner : outer,
        plain(outer).flatMap { _ in inner.callback(pool: Self.identityPool) }
      ) { () throws(UpstreamFailure) in
        Self.fields(
          try server.reply(reply, to: query, session: session, cipher: QuickCrypto()))
      },
      judge("/login", inner.json == .outOfRange ? inner : outer, key) {
        () throws(UpstreamFailure) in
        [
          try server.session(from: reply, of: signIn, cipher: QuickCrypto()).key.exposedText()
        ]
      },
    ])
  }

  /// The content behind the cipher.
  private func plain(_ second: SecondReply) -> [UInt8]? {
    let text = second.reply.body.bytes.filter { !" \r\n".utf8.contains($0) }
    guard (200..<300).contains(second.reply.status), !second.isPage,
      let bytes = SecondBase64.decode(text, last: "+/"), bytes.count >= 32, bytes.count % 16 == 0
    else { return nil }
    return Array(bytes.dropFirst(16))
  }
}
