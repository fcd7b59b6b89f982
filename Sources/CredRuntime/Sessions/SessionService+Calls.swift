internal import CredCore

/// Upstream calls that sessions want.
extension SessionService {
  var callsUnderWay: Int { calls.count }

  func start(_ call: UpstreamCall, _ number: UInt64, _ session: Session) {
    lastCall += 1
    calls[lastCall] = (session, number)
    count(call)
    if let old = session.ticket { changeCall(.withdrawn(old.id), old.id) }
    let start = SessionCall(call, as: lastCall, for: session)
    session.ticket = (startCall(start), start.isInPerson)
    if start.isInPerson { allowance.spent(by: session.key.uid, now: loop.now) }
  }

  /// An upstream call ended. Where its session did too, nobody wants to know.
  func callFinished(_ number: UInt64, _ outcome: UpstreamOutcome) {
    guard let (session, call) = calls.removeValue(forKey: number),
      sessions[session.key] === session
    else { return }
    handle(.callFinished(call, outcome), session, loop.now)
    server.finishTurn()
  }

  /// A call that waits for its turn is hurried or given up as its callers come and go.
  func followCall(of session: Session) {
    guard let ticket = session.ticket else { return }
    if session.machine.awaitedCall == nil {
      session.ticket = nil
      changeCall(.withdrawn(ticket.id), ticket.id)
    } else if !ticket.isInPerson, session.machine.isAwaited {
      session.ticket?.isInPerson = true
      changeCall(.hurried(ticket.id), ticket.id)
    }
  }
}
