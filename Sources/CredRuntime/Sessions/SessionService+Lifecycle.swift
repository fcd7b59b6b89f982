internal import CredCore

extension SessionService {
  /// Counts an upstream call for `status`.
  func count(_ call: UpstreamCall) {
    switch call {
    case .tokenCallback: backendCalls += 1
    case .getCredentials, .assumeRole: exchanges += 1
    case .signIn, .readTokenFile, .getID, .getOpenIDToken: break
    }
  }

  /// Tells everyone who waits that the daemon ends.
  func dismissWaiters() {
    for connection in server.connections {
      guard let parked = connection.parked else { continue }
      connection.parked = nil
      refuse(
        ProtocolError(.shuttingDown, "the daemon is stopping; try again"), id: parked.request.id,
        connection)
    }
    server.finishTurn()
  }
}
