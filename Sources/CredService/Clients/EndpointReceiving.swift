package import CredCore

/// The service, as the endpoint's server sees it. The same code decides for the socket and the
/// endpoint: a request to the endpoint becomes a `get`, with the same rules, sessions and
/// refreshes.
package protocol EndpointReceiving: ClientReceiving {
  /// - Parameter facts: the facts of a connection that the kernel has attested. They have no pid.
  func connectedToEndpoint(_ facts: any PeerFacts, _ sink: any ReplySink) -> Client
  /// Answers a request through the client's sink, at once or later. The server has checked its
  /// form, its `Host` and its path: see ``EndpointRequest/refusal(at:isAttested:)``.
  ///
  /// - Parameter arrived: when the head of the request had ended. Since then, the caller's unit may
  ///   have been searched.
  func receive(_ request: EndpointRequest, from client: Client, arrived: Instant, now: Instant)
  /// Counts a request that the server has refused by itself. If the request hit a limit, logs its
  /// user.
  func refused(_ refusal: EndpointRefusal, of peer: Peer)
}

/// Checks the tokens of the endpoint. It exists once the crypto library is loaded and the key of
/// this boot is read.
package struct EndpointLock: Sendable {
  /// Where the endpoint is, for clients that look for it.
  package struct Place: Sendable {
    let address: EndpointAddress
    /// The cookie of the listener's network namespace; nil before Linux 5.14.
    let networkNamespace: UInt64?

    package init(address: EndpointAddress, networkNamespace: UInt64?) {
      self.address = address
      self.networkNamespace = networkNamespace
    }
  }

  let key: TokenKey
  let digests: any Digests
  /// Nil if no server listens.
  let place: Place?

  package init(key: TokenKey, digests: any Digests, place: Place?) {
    self.key = key
    self.digests = digests
    self.place = place
  }

  func token(
    of owner: TokenOwner, for profile: String, at time: WallTime,
    _ random: inout any RandomNumberGenerator
  ) -> EndpointToken {
    key.token(of: owner, for: profile, at: time, &random, digests)
  }
}

/// The endpoint: whether it is open, and which problem it has.
final class EndpointDoor {
  /// Nil while the endpoint is not open.
  private(set) var lock: EndpointLock?
  /// Whether the endpoint's lock is being made, for which libcrypto is loaded.
  private(set) var isStarting = false
  /// The problem of the endpoint's port; nil if there is none.
  var problem: String?

  func start() { isStarting = true }

  func started(_ lock: EndpointLock?) {
    self.lock = lock
    isStarting = false
  }

  /// The step of `check` for the endpoint; nil if no server listens.
  var checkStep: CheckStep? {
    guard let place = lock?.place else { return nil }
    return CheckStep(
      "endpoint", isOK: problem == nil, detail: problem ?? "it listens on \(place.address)")
  }
}
