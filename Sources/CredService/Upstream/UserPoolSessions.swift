import CredCore

/// The sessions of a user that a pool tracks.
extension UserPoolExchanges {
  func sessionList(
    _ action: PoolAccountCall, after place: String?
  ) -> Prepared<AccountResult> {
    let client = action.client
    return .exchange(
      Exchange(request: list(action, after: place)) { reply throws(UpstreamFailure) in
        .sessions(try client.sessions(from: reply))
      })
  }

  private func list(_ action: PoolAccountCall, after place: String?) -> UpstreamRequest {
    request(
      action.client.listSessions(accessToken: action.token, after: place), action.client,
      secrets: [action.token], operation: AccountAction.sessions.rawValue)
  }

  /// Ends a session that is not this one. The pool refuses its own to every access token, but with
  /// words that nobody knows and that could look like the end of the token: so the list says first
  /// which one it is.
  func endOther(
    _ id: TrackedSessionID, _ action: PoolAccountCall, after place: String? = nil, page: Int = 1
  ) -> Prepared<AccountResult> {
    let client = action.client
    return .part(
      Exchange(request: list(action, after: place)) { reply throws(UpstreamFailure) in
        let list = try client.sessions(from: reply)
        return Preparation { _ throws(Unprepared) in
          let own = list.sessions.first(where: \.isThis)
          if own?.id == id { throw .failed(ownSession) }
          if own == nil, let next = list.next, page < Limits.UserPool.sessionPages {
            return endOther(id, action, after: next, page: page + 1)
          }
          return end(id, action)
        }
      })
  }

  private func end(_ id: TrackedSessionID, _ action: PoolAccountCall) -> Prepared<AccountResult> {
    let client = action.client
    let request = request(
      client.endSession(accessToken: action.token, id), client, secrets: [action.token],
      isSentOnce: true, operation: AccountAction.endSession.rawValue)
    return .exchange(
      Exchange(request: request) { reply throws(UpstreamFailure) in
        try client.sessionEnded(reply)
        return .done
      })
  }

  private var ownSession: UpstreamFailure {
    UpstreamFailure(
      upstream: upstream, failureClass: .refusedByBackend, code: .accountRefused,
      message: "\(upstream): this is the session that asks; 'logout' ends it", severity: .expected)
  }
}
