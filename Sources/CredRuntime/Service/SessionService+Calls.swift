internal import CredCore

/// Upstream calls that sessions want.
extension SessionService {
  var callsUnderWay: Int { calls.count }

  func start(_ call: UpstreamCall, _ id: CallID, _ session: Session) {
    calls[id] = session
    count(call)
    if let old = session.ticket { changeCall(.cancelled(old.id), old.id) }
    let start = SessionCall(call, id, for: session)
    session.ticket = (startCall(start), start.isInPerson)
    if start.isInPerson { allowance.spent(by: session.key.uid, now: loop.now) }
  }

  /// An upstream call ended. Where its session did too, nobody wants to know.
  func callFinished(_ id: CallID, _ outcome: UpstreamOutcome) {
    guard let session = calls.removeValue(forKey: id), sessions[session.key] === session
    else { return }
    handle(.callFinished(id, outcome), session, loop.now)
    server.finishTurn()
  }

  /// A call that waits for its turn is hurried or given up as its callers come and go.
  func followCall(of session: Session) {
    guard let ticket = session.ticket else { return }
    if session.machine.awaitedCall == nil {
      session.ticket = nil
      changeCall(.cancelled(ticket.id), ticket.id)
    } else if !ticket.isInPerson, session.machine.isAwaited {
      session.ticket?.isInPerson = true
      changeCall(.prioritised(ticket.id), ticket.id)
    }
  }
}

/// What callers are told.
extension SessionService {
  func giveCredentials(of session: Session, to waiter: UInt64) {
    guard let (connection, request) = unpark(waiter) else { return }
    guard let reply = session.reply else { return refuse(.nothingHeld, id: request.id, connection) }
    audit(session, connection, loop.now)
    give(reply, request, connection)
  }

  func giveToken(of session: Session, to waiter: UInt64) {
    guard let (connection, request) = unpark(waiter) else { return }
    guard let held = session.machine.token, let identity = session.machine.identityID else {
      return refuse(.nothingHeld, id: request.id, connection)
    }
    auditToken(held.token, session, connection)
    give(.token(held.token, of: identity), request, connection)
  }

  func unpark(_ waiter: UInt64) -> (Connection, Request)? {
    guard let connection = server.connection(waiter), let parked = connection.parked else {
      return nil
    }
    connection.parked = nil
    return (connection, parked.request)
  }

  func give(_ reply: RenderedReply, _ request: Request, _ connection: Connection) {
    guard let id = request.id else { return server.reply(reply.bytes, to: connection) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(reply.bytes.count + id.json.count + 8)
    reply.append(to: &bytes, id: id)
    server.reply(bytes, to: connection)
  }

  func refuse(_ error: ProtocolError, id: RequestID?, _ connection: Connection) {
    var bytes: [UInt8] = []
    RenderedReply.error(error).append(to: &bytes, id: id)
    server.reply(bytes, to: connection)
  }
}
