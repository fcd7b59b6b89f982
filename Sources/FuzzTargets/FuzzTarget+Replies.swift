import CredCore

/// Replies: the first two bytes select status and headers, the rest is the body.
extension FuzzTarget {
  private static let statuses = [
    200, 200, 200, 201, 301, 400, 401, 403, 404, 409, 429, 500, 503, 511,
  ]
  private static let headers: [[HTTPReply.Header]] = [
    [], [.init(name: "Date", value: "Sun, 06 Nov 1994 08:49:37 GMT")],
    [.init(name: "Retry-After", value: "99999999999")],
    [
      .init(name: "Date", value: "Sun, 06 Nov 1994 08:49:37 GMT"),
      .init(name: "Retry-After", value: "Sun, 06 Nov 1994 08:50:37 GMT"),
    ],
    [.init(name: "Content-Type", value: "text/html")],
    [.init(name: "x-amzn-ErrorType", value: "NotAuthorizedException:http://x/")],
  ]

  private func reply(_ bytes: [UInt8]) -> HTTPReply {
    let status = bytes.first.map { Self.statuses[Int($0) % Self.statuses.count] } ?? 200
    let headers = bytes.dropFirst().first.map { Self.headers[Int($0) % Self.headers.count] } ?? []
    return HTTPReply(status: status, headers: headers, body: Secret(Array(bytes.dropFirst(2))))
  }

  /// Only a reply with a successful status is read as a success.
  private func fault<Value>(
    _ status: Int, _ read: () throws(UpstreamFailure) -> Value
  ) -> String? {
    do throws(UpstreamFailure) {
      _ = try read()
      return (200..<300).contains(status) ? nil : "status \(status) is a success"
    } catch {
      let isOneLine = !error.message.utf8.contains { $0 < 0x20 }
      return isOneLine ? nil : "a failure in several lines: \(error.message)"
    }
  }

  func faultInCognitoReplies(_ bytes: [UInt8]) -> String? {
    let reply = reply(bytes)
    return fault(reply.status) { () throws(UpstreamFailure) in
      try CognitoIdentity.identity(from: reply)
    }
      ?? fault(reply.status) { () throws(UpstreamFailure) in
        try CognitoIdentity.credentials(from: reply)
      }
      ?? fault(reply.status) { () throws(UpstreamFailure) in try CognitoIdentity.token(from: reply)
      }
      ?? fault(reply.status) { () throws(UpstreamFailure) in
        try CognitoIdentity.developerToken(from: reply, backend: "corp")
      }
  }

  func faultInSTSReply(_ bytes: [UInt8]) -> String? {
    let reply = reply(bytes)
    return fault(reply.status) { () throws(UpstreamFailure) in try STS.credentials(from: reply) }
  }

  private func query() throws(InvalidInput) -> TokenQuery {
    TokenQuery(
      pool: try IdentityPoolID("us-east-1:11111111-2222-3333-4444-555555555555"),
      developerProvider: "login.example.app", userIdentifier: "alice")
  }

  func faultInBackendReplies(_ bytes: [UInt8]) -> String? {
    guard let query = try? query() else { return "no query" }
    let reply = reply(bytes)
    let backend = HTTPBackend(name: "corp")
    return fault(reply.status) { () throws(UpstreamFailure) in
      try backend.token(from: reply, to: query)
    }
      ?? fault(reply.status) { () throws(UpstreamFailure) in
        try backend.session(from: reply)
      }
  }

  func faultInOutput(_ bytes: [UInt8]) -> String? {
    guard let query = try? query() else { return "no query" }
    _ = try? DeveloperCredentials(processOutput: Secret(bytes))
    _ = try? DeveloperCredentials(file: Secret(bytes), section: "default", path: "/file")
    let status = Int32(bytes.first ?? 0) % 80
    return fault(status == 0 ? 200 : 500) { () throws(UpstreamFailure) in
      try ExecBackend(name: "script").token(
        from: ExecOutcome(
          ending: .exited(status), standardOutput: Secret(Array(bytes.dropFirst())),
          standardError: bytes),
        to: query)
    }
  }

  /// Does not encrypt, so that the fuzzed bytes reach the reader behind the cipher.
  private struct NoCipher: BlockCipher, Digests {
    func decryptAES128CBC(_ ciphertext: [UInt8], key: [UInt8], iv: [UInt8]) -> [UInt8]? {
      ciphertext
    }
    func sha256(_ bytes: [UInt8]) -> [UInt8] { Array(repeating: 7, count: 32) }
    func hmacSHA256(key: [UInt8], message: [UInt8]) -> [UInt8] { Array(repeating: 7, count: 32) }
  }

  func faultInSampleReplies(_ bytes: [UInt8]) -> String? {
    let hex = String(repeating: "0a", count: 16)
    guard let query = try? query(), let server = try? SampleServer(backend: "s", url: "https://h/"),
      let session = SampleSession(packed: Secret("\(hex):\(hex)")),
      let signIn = try? server.signIn(
        username: "alice", password: Secret("secret123"), uid: hex, digests: NoCipher())
    else { return "no server" }
    let reply = reply(bytes)
    return fault(reply.status) { () throws(UpstreamFailure) in
      try server.reply(reply, to: query, session: session, cipher: NoCipher())
    }
      ?? fault(reply.status) { () throws(UpstreamFailure) in
        try server.session(from: reply, of: signIn, cipher: NoCipher())
      }
  }
}
