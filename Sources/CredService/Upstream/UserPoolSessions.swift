import CredCore

/// The sessions of a user that a pool tracks.
extension UserPoolExchanges {
  func listSessions(
    _ action: PoolAccountCall, after place: String?,
    _ done: @escaping Completion<TrackedSessionPage>
  ) {
    let client = action.client
    let exchange = self.exchange(
      client.listSessions(accessToken: action.token, after: place), client,
      secrets: [action.token], operation: AccountAction.sessions.rawValue
    ) { reply throws(UpstreamFailure) in try client.sessions(from: reply) }
    called.send(exchange, done)
  }

  /// Ends a session that is not this one. The pool refuses its own to every access token, but with
  /// words that nobody knows and that could look like the end of the token: so the list says first
  /// which one it is.
  func endOther(
    _ id: TrackedSessionID, _ action: PoolAccountCall, after place: String? = nil, page: Int = 1
  ) {
    listSessions(action, after: place) { [self] listed in
      guard case .success(let list) = listed else {
        return action.done(listed.map { _ in .done })
      }
      let own = list.sessions.first(where: \.isThis)
      if own?.id == id { return action.done(.failure(ownSession)) }
      if own == nil, let next = list.next, page < Limits.UserPool.sessionPages {
        return endOther(id, action, after: next, page: page + 1)
      }
      end(id, action)
    }
  }

  private func end(_ id: TrackedSessionID, _ action: PoolAccountCall) {
    let client = action.client
    let exchange = self.exchange(
      client.endSession(accessToken: action.token, id), client, secrets: [action.token],
      isSentOnce: true, operation: AccountAction.endSession.rawValue
    ) { reply throws(UpstreamFailure) in try client.sessionEnded(reply) }
    called.send(exchange) { action.done($0.map { .done }) }
  }

  private var ownSession: UpstreamFailure {
    UpstreamFailure(
      upstream: upstream, failureClass: .refusedByBackend, code: .accountRefused,
      message: "\(upstream): this is the session that asks; 'logout' ends it", severity: .expected)
  }
}
