import CredCore

/// The operation `endpoint`: where a caller of the socket finds the endpoint, and its token.
extension SessionService {
  func giveEndpoint(
    of name: String, _ request: Request, _ client: Client, _ now: Instant
  ) {
    switch decideAccess(to: name, client, now) {
    case .admitted where isEndpointStarting:
      wait(client, for: WaitingRequest(request, for: .caller))
    case .admitted(let profile, let caller):
      switch endpointAccess(to: profile, caller) {
      case .success(let place): giveEndpoint(place, of: name, caller, request, client)
      case .failure(let error): refuse(error, id: request.id, client)
      }
    case .refused(let error): refuse(error, id: request.id, client)
    case .pending: wait(client, for: WaitingRequest(request, for: .caller))
    }
  }

  /// Answers the clients that asked before the endpoint had its lock. Such a request may have started
  /// the daemon.
  ///
  /// - Parameter lock: nil if it cannot be made.
  package func endpointStarted(_ lock: EndpointLock?) {
    endpointLock = lock
    isEndpointStarting = false
    let now = host.clock.now
    for client in clients.values.sorted(by: { $0.id < $1.id }) {
      if let waiting = client.waiting, waiting.isForCaller,
        case .endpoint = waiting.request.operation
      {
        routeAgain(waiting, client, now)
      }
    }
  }

  /// Where the endpoint is, if the caller could use it with its own token.
  private func endpointAccess(
    to profile: Profile, _ caller: Caller
  ) -> Result<EndpointLock.Place, ProtocolError> {
    guard let place = endpointLock?.place else {
      return .failure(
        ProtocolError(
          .endpointOff,
          "this credd serves no HTTP clients: enable credd-endpoint.socket, then stop credd.service "
            + "and start its sockets"))
    }
    let name = profile.settings.name
    if profile.access.needsExecutable {
      return .failure(
        ProtocolError(
          .accessDenied,
          "profile '\(name)' is not served to HTTP clients: allow_executables needs a program, and "
            + "the kernel names none for a TCP connection"))
    }
    if caller.uid == 0, !profile.access.names(caller) {
      return .failure(
        ProtocolError(
          .accessDenied,
          "profile '\(name)' is not served to root's HTTP clients: forwarders run as root; name root "
            + "in allow_users, or use the token of a unit"))
    }
    return .success(place)
  }

  private func giveEndpoint(
    _ place: EndpointLock.Place, of name: String, _ caller: Caller, _ request: Request,
    _ client: Client
  ) {
    guard let lock = endpointLock else { return refuse(.nothingHeld, id: request.id, client) }
    let token = lock.token(
      of: .user(caller.uid), for: name, at: host.clock.wallTime, &host.random)
    give(
      .endpoint(
        url: place.address.url(ofProfile: name), token: token.text,
        networkNamespace: place.networkNamespace),
      request, client)
  }
}
