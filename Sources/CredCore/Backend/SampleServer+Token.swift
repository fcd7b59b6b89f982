extension SampleServer {
  /// `/gettoken`, signed at `now`: the user's own login first, then the ones to link.
  public func request(
    _ query: TokenQuery, session: SampleSession, digests: some Digests, now: WallTime
  ) -> HTTPRequest {
    let timestamp = now.iso8601
    var signed = Array(timestamp.utf8)
    var form = FormBody()
    form.append("uid", session.uid)
    form.append("timestamp", timestamp)
    let own = [(query.developerProvider, Secret(query.userIdentifier))]
    let logins = own + query.logins.logins.map { ($0.provider, $0.token) }
    for (index, (provider, token)) in logins.enumerated() {
      form.append("provider\(index + 1)", provider)
      form.append("token\(index + 1)", token)
      signed += Array(provider.utf8) + token.bytes
    }
    if let identity = query.identity {
      form.append("identityId", identity.description)
      signed += Array(identity.description.utf8)
    }
    let signature = digests.hmacSHA256(key: session.key.bytes, message: signed)
    form.append("signature", Secret(Hex.encode(signature)))
    return request("/gettoken", form)
  }

  /// Reads the answer. A 401 means that the key is no longer valid: sign in again.
  public func reply(
    _ reply: HTTPReply, to query: TokenQuery, session: SampleSession, cipher: some BlockCipher
  ) throws(UpstreamFailure) -> TokenReply {
    let upstream = Upstream.backend(backend)
    guard reply.isSuccess, !reply.looksLikeHTML else {
      let sent = query.logins.logins.map(\.token) + [session.key]
      throw .backend(reply, from: upstream, said: reply.explanation(hiding: sent))
    }
    let plain = try open(reply, key: session.key, cipher: cipher)
    return try query.reply(
      from: plain, limit: Limits.backendReplyBytes, limits: Self.jsonLimits, serverTime: reply.date,
      from: upstream)
  }
}
